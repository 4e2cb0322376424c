// Package interrupts reads /proc/interrupts, once or at two instants: which
// processors the interrupts of disks and network cards go to. Where all go to one
// processor, that one completes all of the device's I/O.
package interrupts

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"iocause/internal/parse/lines"
	"iocause/internal/sample"
)

// Bounds on what is kept, and from which on a device is worth a word.
const (
	maxCPUs    = 4096
	maxDevices = 1024
	maxLine    = 64 << 10
	shown      = 4
	fewest     = 1000 // interrupts
	most       = 0.9  // of a device's, on one processor
)

// Find says where in a line the file begins: at the names of the processors.
func Find(line string) int {
	text := strings.TrimLeft(line, " \t")
	if cpus(text) < 1 {
		return -1
	}
	return len(line) - len(text)
}

// cpus is how many processors a heading names, 0 for another line.
func cpus(text string) int {
	if !strings.HasPrefix(text, "CPU") {
		return 0
	}
	f := strings.Fields(text[:min(len(text), maxLine)])
	for _, name := range f {
		if number := strings.TrimPrefix(name, "CPU"); number == name || number == "" || strings.Trim(number, "0123456789") != "" {
			return 0
		}
	}
	if len(f) > maxCPUs {
		return 0
	}
	return len(f)
}

// shot is a look at the file: interrupts by device and processor.
type shot map[string][]float64

type reader struct {
	n     int // processors
	shots []shot
}

// New makes a reader.
func New(string) lines.Reader { return &reader{} }

// Line implements lines.Reader.
func (r *reader) Line(l lines.Line, _ lines.Values) (lines.Use, error) {
	text := strings.TrimSpace(l.Text[:min(len(l.Text), maxLine)])
	if text == "" {
		return lines.Skipped, nil
	}
	if n := cpus(text); n > 0 {
		if len(r.shots) > 0 && n != r.n {
			return lines.Another, nil
		}
		if r.n = n; len(r.shots) == 2 { // the first and the last are compared
			r.shots = r.shots[:1]
		}
		r.shots = append(r.shots, shot{})
		return lines.Skipped, nil
	}
	name, rest, ok := strings.Cut(text, ":")
	if !ok || name == "" || len(name) > 8 || strings.ContainsAny(name, " \t") {
		return lines.Foreign, nil
	}
	f := strings.Fields(rest)
	if strings.Trim(name, "0123456789") != "" { // of the processors themselves
		if len(f) == 0 || strings.Trim(f[0], "0123456789") != "" {
			return lines.Foreign, nil
		}
		return lines.Skipped, nil
	}
	if len(f) < r.n {
		return lines.Broken, fmt.Errorf("interrupt %s has %d counts for %d processors", name, len(f), r.n)
	}
	counts := make([]float64, r.n)
	for i := range counts {
		if counts[i], ok = lines.Number(f[i]); !ok {
			return lines.Broken, fmt.Errorf("a count of interrupt %s is %.20q, not a number", name, f[i])
		}
	}
	if len(f) == r.n {
		return lines.Skipped, nil // nobody has it
	}
	r.add(deviceOf(f[len(f)-1]), counts)
	return lines.Used, nil
}

// deviceOf is the device that an interrupt is of, without the number of its queue:
// nvme0q1, eth0-TxRx-3, virtio0-req.0.
func deviceOf(name string) string {
	name = name[:min(len(name), 64)]
	if at := strings.IndexAny(name, "-@"); at > 0 {
		name = name[:at]
	}
	if at := strings.LastIndexByte(name, 'q'); at > 0 && strings.HasPrefix(name, "nvme") && strings.Trim(name[at+1:], "0123456789") == "" {
		name = name[:at]
	}
	return name
}

func (r *reader) add(device string, counts []float64) {
	now := r.shots[len(r.shots)-1]
	if now[device] == nil {
		if len(now) >= maxDevices {
			return
		}
		now[strings.Clone(device)] = counts
		return
	}
	for i, n := range counts {
		now[device][i] += n
	}
}

// Close implements lines.Reader.
func (r *reader) Close(into lines.Values) {
	into.State()
	if len(r.shots) == 0 {
		return
	}
	since, last := " since boot", r.shots[len(r.shots)-1]
	if len(r.shots) > 1 {
		since = " between the snapshots"
	}
	type one struct {
		device     string
		cpu        int
		all, share float64
	}
	var found []one
	for _, device := range slices.Sorted(maps.Keys(last)) {
		x := one{device: device}
		top := 0.0
		for i, n := range last[device] {
			if len(r.shots) > 1 {
				if before := r.shots[0][device]; before != nil {
					n = max(0, n-before[i])
				}
			}
			if x.all += n; n > top {
				top, x.cpu = n, i
			}
		}
		if x.share = top / max(x.all, 1); x.all >= fewest && x.share >= most {
			found = append(found, x)
		}
	}
	slices.SortStableFunc(found, func(a, b one) int { return cmp.Compare(b.all, a.all) })
	if r.n == 1 {
		into.Note("/proc/interrupts: the machine has one processor")
		return
	}
	if len(found) == 0 {
		into.Note(fmt.Sprintf("/proc/interrupts: no device has nine tenths of its interrupts on one of the %s%s", sample.Counted(r.n, "processor"), since))
	}
	for _, x := range found[:min(shown, len(found))] {
		into.Note(fmt.Sprintf("/proc/interrupts: %.0f %% of the %.0f interrupts of %s%s are on processor %d: if that one is busy (mpstat -P ALL), it limits the device", 100*x.share, x.all, x.device, since, x.cpu))
	}
}
