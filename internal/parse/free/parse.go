// Package free reads what free(1) of procps prints: all units (-b -k -m -g -h,
// and their --si kin), wide or not (-w), the old layout with "-/+ buffers/cache",
// and repeated with -s.
package free

import (
	"fmt"
	"math"
	"strings"

	"iocause/internal/parse/lines"
	"iocause/internal/sample"
)

// Find says where in a line the output begins: at the names of its columns.
func Find(line string) int {
	at, _ := header(line)
	return at
}

// header is the names of the columns, in English, and where they begin.
func header(line string) (at int, columns []string) {
	for _, first := range []string{"total ", "gesamt ", "razem ", "totalt ", "\u0437\u0430\u0433\u0430\u043b\u043e\u043c "} {
		if at = strings.Index(line, first); at < 0 {
			continue
		}
		f := strings.Fields(line[at:])
		if len(f) < 5 {
			continue
		}
		switch f[1] + " " + f[2] {
		case "used free":
			if f[3] == "shared" && (strings.HasPrefix(f[4], "buff") || f[4] == "cache") {
				return at, f
			}
		case "benutzt frei", "utilis\u00e9 libre", "usado libre", "usada livre", "u\u017cyte wolne", "anv\u00e4nt fritt", "\u0432\u0438\u043a\u043e\u0440\u0438\u0441\u0442. \u0432\u0456\u043b\u044c\u043d\u0430":
			columns = []string{"total", "used", "free", "shared", "buff/cache", "available"}
			if !strings.Contains(f[4], "/") { // -w
				columns = []string{"total", "used", "free", "shared", "buffers", "cache", "available"}
			}
			return at, columns
		}
	}
	return -1, nil
}

type reader struct {
	unit    float64 // bytes, of figures without a suffix
	said    bool    // the unit is known
	name    string  // of the unit that is assumed
	every   float64
	columns []string
	rows    int
	ticks   int
}

// New makes a reader; before is the text that precedes the output.
func New(before string) lines.Reader {
	r := &reader{unit: 1024, every: 1}
	command := lines.Command(before, "free")
	if s, ok := lines.Option(command, 's'); ok {
		if v, ok := lines.Number(s); ok && v > 0 {
			r.every = v
		}
	}
	if unit := unitOf(command); unit > 0 {
		r.unit, r.said = unit, true
	}
	r.said = r.said || command != ""
	return lines.Trim(r)
}

// unitOf is the unit that options ask for, 0 without one.
func unitOf(command string) (unit float64) {
	step := 1024.0
	if strings.Contains(command, "--si") {
		step, unit = 1000, 1000
	}
	for _, o := range []struct {
		letter          byte
		decimal, binary string
		power           float64
	}{
		{letter: 'h', decimal: "--human", binary: "--human"}, // each figure has its own
		{letter: 'b', decimal: "--bytes", binary: "--bytes"},
		{'k', "--kilo", "--kibi", 1},
		{'m', "--mega", "--mebi", 2},
		{'g', "--giga", "--gibi", 3},
		{0, "--tera", "--tebi", 4},
		{0, "--peta", "--pebi", 5},
	} {
		switch _, given := lines.Option(command, o.letter); {
		case strings.Contains(command, o.decimal):
			unit = math.Pow(1000, o.power)
		case strings.Contains(command, o.binary):
			unit = math.Pow(1024, o.power)
		case given && o.letter != 0:
			unit = math.Pow(step, o.power)
		}
	}
	return unit
}

// Text implements lines.Trimmed.
func (r *reader) Text(text string, _ lines.Line, into lines.Values) (lines.Use, error) {
	if at, columns := header(text); at == 0 {
		if r.rows > 0 {
			into.Tick(r.every)
			r.ticks++
		}
		r.columns, r.rows = columns, 0
		return lines.Used, nil
	}
	name, rest, ok := strings.Cut(text, ":")
	if !ok || r.columns == nil {
		return lines.Foreign, nil
	}
	f := strings.Fields(rest)
	switch name {
	case "Mem", "Speicher":
		r.rows++
		return r.memory(f, into)
	case "Swap", "\u00c9change", "Inter", "Wymiana", "V\u00e4xling", "\u0421\u0432\u043e\u043f":
		r.rows++
		return r.swap(f, into)
	case "-/+ buffers/cache", "Low", "High", "Total", "Comm":
		return lines.Skipped, nil
	}
	return lines.Foreign, nil
}

func (r *reader) memory(f []string, into lines.Values) (lines.Use, error) {
	if len(f) < len(r.columns) {
		return lines.Broken, fmt.Errorf("%d figures below %d columns", len(f), len(r.columns))
	}
	into.State()
	if !r.said {
		r.guess(f)
	}
	var total, cache float64
	for i, name := range r.columns {
		v, ok := lines.Binary(f[i], r.unit)
		if !ok {
			return lines.Broken, fmt.Errorf("%s is %.20q, not a number", name, f[i])
		}
		switch name {
		case "total":
			total = v
		case "buff/cache", "buffers", "cached", "cache", "buffer":
			cache += v
		}
		if m := metricOf(name); m != "" {
			into.Put(m, sample.Entity{}, v)
		}
	}
	into.Put(sample.MemCache, sample.Entity{}, cache)
	if !r.said && total > 0 {
		r.said = true
		into.Note(fmt.Sprintf("the unit of free is not in the text: %s is assumed, which makes %.1f GiB of memory", r.name, total/(1<<30)))
	}
	return lines.Used, nil
}

// guess finds the unit when the command is not in the text. The kernel counts
// memory in pages, so that what is no multiple of 4 is not in kB.
func (r *reader) guess(f []string) {
	r.name = "kB"
	odd, bytes := false, true
	for i := range min(len(f), len(r.columns)) {
		v, ok := lines.Number(f[i])
		if !ok { // with a letter: -h
			r.said = true
			return
		}
		odd, bytes = odd || math.Mod(v, 4) != 0, bytes && math.Mod(v, 1024) == 0
	}
	total, _ := lines.Number(f[0])
	switch {
	case bytes && total >= 1<<28:
		r.unit, r.name = 1, "bytes"
	case total < 128: // no machine has 128 MiB or kB
		r.unit, r.name = 1<<30, "GiB"
	case odd && total < 1<<22, total < 1<<15:
		r.unit, r.name = 1<<20, "MiB"
	}
}

func metricOf(column string) sample.Metric {
	switch column {
	case "total":
		return sample.MemTotal
	case "free":
		return sample.MemFree
	case "available":
		return sample.MemAvailable
	case "shared":
		return sample.MemShmem
	}
	return ""
}

func (r *reader) swap(f []string, into lines.Values) (lines.Use, error) {
	if len(f) < 3 {
		return lines.Broken, fmt.Errorf("%d figures for the swap space, not 3", len(f))
	}
	total, ok1 := lines.Binary(f[0], r.unit)
	free, ok2 := lines.Binary(f[2], r.unit)
	if !ok1 || !ok2 {
		return lines.Broken, fmt.Errorf("the swap space is %.20q, free of that %.20q: not numbers", f[0], f[2])
	}
	into.Put(sample.SwapTotal, sample.Entity{}, total)
	into.Put(sample.SwapFree, sample.Entity{}, free)
	return lines.Used, nil
}

// Close implements lines.Reader.
func (r *reader) Close(into lines.Values) {
	if r.ticks > 0 && r.rows > 0 {
		into.Tick(r.every)
	}
}
