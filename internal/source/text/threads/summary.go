package threads

import (
	"fmt"
	"strings"

	"iocause/internal/sample"
	"iocause/internal/source/text/lines"
)

// summary tells the lines that top(1) puts above its list: the use of the
// processors and of memory.
func summary(text string) bool {
	return strings.HasPrefix(text, "top - ") && strings.Contains(text, "load average") ||
		strings.HasPrefix(text, "%Cpu(s):") || strings.HasPrefix(text, "Cpu(s):") || memoryUnit(text) != ""
}

// summarise reads one of them.
func (r *reader) summarise(text string, into lines.Values) (lines.Use, error) {
	switch {
	case strings.HasPrefix(text, "top - "):
		r.flush(into)
		r.screens++
		return lines.Used, nil
	case strings.HasPrefix(text, "%Cpu(s):"), strings.HasPrefix(text, "Cpu(s):"):
		r.open = true
		return processors(text, into)
	}
	r.open = true
	return amounts(text, memoryUnit(text), into)
}

// memoryUnit is the unit of a line on memory or swap, "" for other lines.
func memoryUnit(text string) string {
	unit, rest, ok := strings.Cut(text, " ")
	if !ok || len(unit) != 3 && unit != "Mem:" && unit != "Swap:" || !strings.Contains(rest, "total") || !strings.Contains(rest, "used") {
		return ""
	}
	switch {
	case strings.HasPrefix(rest, "Mem"), strings.HasPrefix(rest, "Swap"):
		if _, ok := lines.Binary("1"+unit[:1], 1); ok {
			return unit
		}
	case strings.HasPrefix(text, "Mem:"), strings.HasPrefix(text, "Swap:"):
		return "old" // 12345k total, ... of procps before 3.3
	}
	return ""
}

// pairs reads "1.5 us, 0.5 sy" into figures by word.
func pairs(s string) map[string]string {
	out := map[string]string{}
	for _, p := range strings.FieldsFunc(strings.ReplaceAll(s, ". ", ", "), func(c rune) bool { return c == ',' }) {
		p = strings.ReplaceAll(p, "%", " ")
		if f := strings.Fields(p); len(f) >= 2 {
			out[strings.Join(f[1:], " ")] = f[0]
		}
	}
	return out
}

// processors reads the shares of the processors' time.
func processors(text string, into lines.Values) (lines.Use, error) {
	_, rest, _ := strings.Cut(text, ":")
	p := pairs(rest)
	sum := func(names ...string) (t float64) {
		for _, n := range names {
			v, _ := lines.Number(p[n])
			t += v
		}
		return t / 100
	}
	if _, ok := lines.Number(p["id"]); !ok {
		return lines.Broken, fmt.Errorf("the idle time is %.20q, no figure", p["id"])
	}
	into.Put(sample.CPUUser, sample.Entity{}, sum("us", "ni"))
	into.Put(sample.CPUSystem, sample.Entity{}, sum("sy", "hi", "si"))
	into.Put(sample.CPUIdle, sample.Entity{}, sum("id"))
	into.Put(sample.CPUIOWait, sample.Entity{}, sum("wa"))
	into.Put(sample.CPUSteal, sample.Entity{}, sum("st"))
	return lines.Used, nil
}

// amounts reads a line on memory or swap.
func amounts(text, unit string, into lines.Values) (lines.Use, error) {
	_, rest, _ := strings.Cut(text, ":")
	scale := 1.0
	if unit != "old" {
		scale, _ = lines.Binary("1"+unit[:1], 1)
	}
	p := pairs(rest)
	get := func(name string) (float64, bool) { return lines.Binary(p[name], scale) }
	put := func(m sample.Metric, name string) {
		if v, ok := get(name); ok {
			into.Put(m, sample.Entity{}, v)
		}
	}
	if _, ok := get("total"); !ok {
		return lines.Broken, fmt.Errorf("the total is %.20q, no amount", p["total"])
	}
	if strings.Contains(text[:min(len(text), 9)], "Swap") {
		put(sample.SwapTotal, "total")
		put(sample.SwapFree, "free")
		if at := strings.LastIndex(rest, "used. "); at >= 0 {
			if f := strings.Fields(rest[at+len("used. "):]); len(f) >= 2 && f[1] == "avail" {
				if v, ok := lines.Binary(f[0], scale); ok {
					into.Put(sample.MemAvailable, sample.Entity{}, v)
				}
			}
		}
		return lines.Used, nil
	}
	put(sample.MemTotal, "total")
	put(sample.MemFree, "free")
	put(sample.MemCache, "buff/cache")
	return lines.Used, nil
}
