package threads

import (
	"fmt"
	"strings"

	"iocause/internal/parse/lines"
	"iocause/internal/sample"
)

// summary tells the lines that top(1) puts above its list: the use of the
// processors and of memory.
func summary(text string) bool {
	return strings.HasPrefix(text, "top - ") && strings.Contains(text, "load average") ||
		isProcessors(text) || isProcessor(text) || memoryUnit(text) != ""
}

// isProcessors tells the line on the processors' time.
func isProcessors(text string) bool {
	name, _, ok := strings.Cut(text, ":")
	return ok && len(name) < 10 && strings.EqualFold(strings.TrimPrefix(name, "%"), "Cpu(s)")
}

// isProcessor tells the line of one processor: "%Cpu0  :  5.0 us, ...". Newer
// versions put two into a line.
func isProcessor(text string) bool {
	name, rest, ok := strings.Cut(text, ":")
	n, cpu := strings.CutPrefix(strings.TrimPrefix(strings.TrimSpace(name), "%"), "Cpu")
	_, number := lines.Number(n)
	return ok && cpu && number && strings.Contains(rest, "id")
}

// perProcessor adds up the lines of single processors.
func (r *reader) perProcessor(text string) (lines.Use, error) {
	if strings.Contains(text[1:], "%Cpu") { // two in a line
		at := strings.LastIndex(text, "%Cpu")
		if use, err := r.perProcessor(text[:at]); use != lines.Used {
			return use, err
		}
		return r.perProcessor(text[at:])
	}
	_, rest, _ := strings.Cut(text, ":")
	p := pairs(rest)
	if _, ok := lines.Number(p["id"]); !ok {
		return lines.Broken, fmt.Errorf("the idle time is %.20q, not a number", p["id"])
	}
	if r.each == nil {
		r.each = map[string]float64{}
	}
	for word, figure := range p {
		if v, ok := lines.Number(figure); ok && len(word) == 2 {
			r.each[word] += v / 100
		}
	}
	r.cpus++
	return lines.Used, nil
}

// putProcessors hands over what single processors did, in processors.
func (r *reader) putProcessors(into lines.Values) {
	if r.cpus == 0 {
		return
	}
	e, host := r.each, sample.Entity{}
	into.Put(sample.CPUCount, host, r.cpus)
	into.Put(sample.CPUUser, host, e["us"]+e["ni"])
	into.Put(sample.CPUSystem, host, e["sy"]+e["hi"]+e["si"])
	into.Put(sample.CPUIdle, host, e["id"])
	into.Put(sample.CPUIOWait, host, e["wa"])
	into.Put(sample.CPUSteal, host, e["st"])
	r.each, r.cpus = nil, 0
}

// summarise reads one of them.
func (r *reader) summarise(text string, n int, into lines.Values) (lines.Use, error) {
	switch {
	case strings.HasPrefix(text, "top - "):
		if r.screens == 1 && r.lists == 0 { // what it shows of an instant counts, for no time
			r.forget()
			r.seconds = 0
		}
		r.flush(into)
		r.seconds = 1
		r.screens++
		return lines.Used, nil
	case isProcessor(text):
		r.open = true
		return r.perProcessor(text)
	case isProcessors(text):
		r.open = true
		return r.processors(text, n)
	}
	r.open = true
	return amounts(text, memoryUnit(text), into)
}

// memoryUnit is the unit of a line on memory or swap, "" for other lines.
func memoryUnit(text string) string {
	unit, rest, ok := strings.Cut(text, " ")
	if !ok || len(unit) != 3 && unit != "Mem:" && unit != "Swap:" || !strings.Contains(rest, "total") {
		return ""
	}
	switch {
	case unit[len(unit)-2:] == "iB" && strings.Contains(rest, ":"):
		if _, ok := lines.Binary("1"+unit[:1], 1); ok {
			return unit
		}
	case strings.HasPrefix(text, "Mem:"), strings.HasPrefix(text, "Swap:"):
		return "old" // 12345k total, ... of procps before 3.3
	}
	return ""
}

// pairs reads "1.5 us, 0.5 sy" into figures by word. A comma between digits is
// the decimal point of many languages: "0,0 us,100,0 sy".
func pairs(s string) map[string]string {
	out := map[string]string{}
	digit := func(i int) bool { return i < len(s) && s[i] >= '0' && s[i] <= '9' }
	for i := 0; i < len(s); {
		if !digit(i) {
			i++
			continue
		}
		from := i
		for digit(i) || i < len(s) && (s[i] == '.' || s[i] == ',') && digit(i+1) {
			i++
		}
		if unitAt(s, i) { // 3664000k
			i++
		}
		figure := s[from:i]
		from = i
		for i < len(s) && s[i] != ',' && !digit(i) && !strings.HasPrefix(s[i:], ". ") {
			i++
		}
		if words := strings.Fields(strings.ReplaceAll(s[from:i], "%", " ")); len(words) > 0 {
			out[english(strings.Join(words, " "))] = figure
		}
	}
	return out
}

// unitAt tells the letter of a unit that stands at a figure, before a blank.
func unitAt(s string, i int) bool {
	return i+1 < len(s) && strings.IndexByte("kmgt", s[i]) >= 0 && s[i+1] == ' '
}

// english is the word that top has for one of its translations.
func english(word string) string {
	switch word {
	case "ut":
		return "us"
	case "libr":
		return "free"
	case "util":
		return "used"
	case "tamp/cache":
		return "buff/cache"
	}
	return word
}

// processors reads the shares of the processors' time.
func (r *reader) processors(text string, n int) (lines.Use, error) {
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
		return lines.Broken, fmt.Errorf("the idle time is %.20q, not a number", p["id"])
	}
	r.hold(sample.CPUUser, sample.Entity{}, sum("us", "ni"), n)
	r.hold(sample.CPUSystem, sample.Entity{}, sum("sy", "hi", "si"), n)
	r.hold(sample.CPUIdle, sample.Entity{}, sum("id"), n)
	r.hold(sample.CPUIOWait, sample.Entity{}, sum("wa"), n)
	r.hold(sample.CPUSteal, sample.Entity{}, sum("st"), n)
	return lines.Used, nil
}

// isSwap tells the line on swap space: the one that does not tell how much is
// cached, in every language.
func isSwap(text string) bool {
	name, rest, _ := strings.Cut(text, ":")
	return strings.Contains(name, "Swap") || !strings.Contains(name, "Mem") && !strings.Contains(rest, "/cache")
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
		return lines.Broken, fmt.Errorf("the total is %.20q, not an amount", p["total"])
	}
	if isSwap(text) {
		put(sample.SwapTotal, "total")
		put(sample.SwapFree, "free")
		for words, s := range p { // "avail Mem", of many lengths and languages
			if strings.HasPrefix(words, "avail") || strings.HasPrefix(words, "dispo") {
				if v, ok := lines.Binary(s, scale); ok {
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
