package threads

import (
	"fmt"
	"strings"

	"iocause/internal/parse/lines"
	"iocause/internal/sample"
)

// The summary of BusyBox's top:
//
//	Mem: 7050356K used, 17633728K free, 10088K shrd, 91048K buff, 6199168K cached
//	CPU:  75% usr  25% sys   0% nic   0% idle   0% io   0% irq   0% sirq
//	Load average: 9.93 11.82 12.77 7/197 9355

// busyBox tells its lines; the one on memory comes first.
func busyBox(text string) bool {
	return busyBoxMemory(text) || busyBoxProcessors(text)
}

func busyBoxMemory(text string) bool {
	return strings.HasPrefix(text, "Mem: ") && strings.Contains(text, "K used, ") && strings.Contains(text, "K free")
}

// busyBoxProcessors tells the line of all processors, and with -1 that of each.
func busyBoxProcessors(text string) bool {
	name, rest, ok := strings.Cut(text, ":")
	return ok && len(name) <= 8 && strings.HasPrefix(name, "CPU") && strings.Contains(rest, "% usr") && strings.Contains(rest, "% idle")
}

// summariseBusyBox reads one of them.
func (r *reader) summariseBusyBox(text string, into lines.Values) (lines.Use, error) {
	if busyBoxMemory(text) {
		r.flush(into)
		r.open = true
		p := map[string]float64{}
		for part := range strings.SplitSeq(strings.TrimPrefix(text, "Mem:"), ",") {
			f := strings.Fields(part)
			if len(f) != 2 {
				continue
			}
			v, ok := lines.Number(strings.TrimSuffix(f[0], "K"))
			if !ok || !strings.HasSuffix(f[0], "K") {
				return lines.Broken, fmt.Errorf("%.20q is not an amount in K", f[0])
			}
			p[f[1]] = v * 1024
		}
		into.Put(sample.MemTotal, sample.Entity{}, p["used"]+p["free"])
		into.Put(sample.MemFree, sample.Entity{}, p["free"])
		if cached, ok := p["cached"]; ok {
			into.Put(sample.MemCache, sample.Entity{}, cached+p["buff"])
		}
		return lines.Used, nil
	}
	r.open = true
	_, rest, _ := strings.Cut(text, ":")
	f := strings.Fields(rest)
	share := map[string]float64{}
	for i := 0; i+1 < len(f); i += 2 {
		v, ok := lines.Percent(f[i])
		if !ok {
			return lines.Broken, fmt.Errorf("%.20q is not a share of the processors' time", f[i])
		}
		share[f[i+1]] = v
	}
	if text[3] != ':' { // one of several
		if r.each == nil {
			r.each = map[string]float64{}
		}
		for from, to := range map[string]string{"usr": "us", "nic": "ni", "sys": "sy", "irq": "hi", "sirq": "si", "idle": "id", "io": "wa"} {
			r.each[to] += share[from]
		}
		r.cpus++
		return lines.Used, nil
	}
	into.Put(sample.CPUUser, sample.Entity{}, share["usr"]+share["nic"])
	into.Put(sample.CPUSystem, sample.Entity{}, share["sys"]+share["irq"]+share["sirq"])
	into.Put(sample.CPUIdle, sample.Entity{}, share["idle"])
	into.Put(sample.CPUIOWait, sample.Entity{}, share["io"])
	return lines.Used, nil
}
