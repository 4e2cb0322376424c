package recording

import (
	"encoding/binary"
	"math"
	"time"

	"iocause/internal/sample"
)

// decoder reads what encoder wrote. After the first thing that cannot be it
// gives zeros, and bad is set. What it makes is no longer than a fixed multiple
// of what it reads: a number of things is believed only as far as their bytes
// are there.
type decoder struct {
	rest     []byte
	bad      bool
	spent    int // bytes of memory, about, that were believed
	texts    []string
	times    []time.Duration
	entities []sample.Entity
}

// What things take in memory, about, with their places in maps.
const (
	sizeText    = 16
	sizeTime    = 8
	sizeEntity  = 112
	sizeProcess = 240
	sizeFile    = 200
	sizeGap     = 64
	sizeMetric  = 64
	sizeSeries  = 360
	sizePoint   = 16
	sizeHist    = 900
	// mostMemory is what one window may take. Of 10,000 processes that are all
	// active, with ten series of ten points each, it is 60 MiB; of 18,000 that each
	// lived for a moment, read and ended, 97.
	mostMemory = 256 << 20
	// mostGaps of a window are compared with those of others, each with each.
	mostGaps = 2000
)

// decode reads a window that began at start.
func decode(from []byte, start time.Time, length time.Duration) (*Record, error) {
	d := &decoder{rest: from, texts: []string{""}}
	return d.record(start, length)
}

func (d *decoder) record(start time.Time, length time.Duration) (*Record, error) {
	r := &Record{Window: sample.NewWindow(start, length)}
	w := r.Window
	w.Told = d.uint()&flagTold != 0
	r.Cost.CPUSeconds = d.value()
	r.Cost.RSSBytes = d.int()
	for range d.count(1, sizeText) {
		d.texts = append(d.texts, d.bytes())
	}
	at := time.Duration(0)
	for range d.count(1, sizeTime) {
		at += time.Duration(d.int())
		d.times = append(d.times, at)
	}
	d.things()
	d.processes(w)
	d.files(w)
	d.gaps(w)
	for range d.count(3, sizeMetric) {
		d.metric(w)
	}
	if d.bad || len(d.rest) > 0 {
		return nil, errDamaged
	}
	return r, nil
}

func (d *decoder) fail() { d.bad, d.rest = true, nil }

func (d *decoder) uint() uint64 {
	v, n := binary.Uvarint(d.rest)
	if n <= 0 {
		d.fail()
		return 0
	}
	d.rest = d.rest[n:]
	return v
}

func (d *decoder) int() int64 {
	v := d.uint()
	return int64(v>>1) ^ -int64(v&1)
}

// count is a number of things of which each takes that many bytes at least, and
// that many of memory.
func (d *decoder) count(each, size int) int {
	n := d.uint()
	if n > uint64(len(d.rest)/each) {
		d.fail()
		return 0
	}
	if d.spent += int(n) * size; d.spent > mostMemory {
		d.fail()
		return 0
	}
	return int(n)
}

func (d *decoder) bytes() string {
	n := d.count(1, 1)
	s := string(d.rest[:n])
	d.rest = d.rest[n:]
	return s
}

// text is a text by its number.
func (d *decoder) text() string {
	n := d.uint()
	if n >= uint64(len(d.texts)) {
		d.fail()
		return ""
	}
	return d.texts[n]
}

func (d *decoder) value() float64 {
	if len(d.rest) > 0 && d.rest[0] == valueBits {
		if len(d.rest) < 9 {
			d.fail()
			return 0
		}
		v := math.Float64frombits(binary.LittleEndian.Uint64(d.rest[1:]))
		d.rest = d.rest[9:]
		return v
	}
	v := d.uint()
	n := float64(int64(v>>3) ^ -int64(v>>2&1))
	switch v & 3 {
	case valueInteger:
		return n
	case valueNanos:
		return n / 1e9
	}
	d.fail()
	return 0
}

func (d *decoder) things() {
	pid := int64(0)
	for range d.count(6, sizeEntity) {
		pid += d.int()
		e := sample.Entity{PID: int(pid), Cgroup: d.text(), Device: d.text()}
		e.File = d.file()
		e.Class = d.text()
		d.entities = append(d.entities, e)
	}
}

func (d *decoder) file() sample.FileID {
	dev := d.uint()
	if dev > math.MaxUint32 {
		d.fail()
	}
	return sample.FileID{Dev: uint32(dev), Ino: d.uint()}
}

func (d *decoder) processes(w *sample.Window) {
	pid := int64(0)
	for range d.count(6, sizeProcess) {
		pid += d.int()
		flags := d.uint()
		p := sample.Process{Kernel: flags&flagKernel != 0, Start: time.Duration(d.int()),
			Comm: d.text(), MemoryCgroup: d.text(), IOCgroup: d.text()}
		if flags&flagCPUCgroup != 0 {
			p.CPUCgroup = d.text()
		}
		w.Processes[int(pid)] = p
	}
}

func (d *decoder) files(w *sample.Window) {
	for range d.count(6, sizeFile) {
		id := d.file()
		flags := d.uint()
		w.Files[id] = sample.File{Deleted: flags&flagDeleted != 0, Partial: flags&flagPartial != 0,
			Size: d.int(), Path: d.text(), Device: d.text()}
	}
}

func (d *decoder) gaps(w *sample.Window) {
	n := d.count(3, sizeGap)
	if n > mostGaps {
		d.fail()
		return
	}
	for range n {
		g := sample.Gap{Source: d.text(), Why: d.text()}
		for range d.count(1, sizeText) {
			g.Metrics = append(g.Metrics, sample.Current(sample.Metric(d.text())))
		}
		w.Gaps = append(w.Gaps, g)
	}
}

// entity is the one that comes so many after the one before.
func (d *decoder) entity(before *uint64) (e sample.Entity, ok bool) {
	*before += d.uint()
	if *before >= uint64(len(d.entities)) {
		d.fail()
	}
	if d.bad {
		return e, false
	}
	return d.entities[*before], true
}

func (d *decoder) metric(w *sample.Window) {
	m := sample.Current(sample.Metric(d.text()))
	at := uint64(0)
	for range d.count(3, sizeSeries) {
		e, ok := d.entity(&at)
		s := &sample.Series{Source: d.text()}
		n := d.count(2, sizePoint)
		if n == 0 {
			d.fail()
		}
		s.Points = make([]sample.Point, 0, n)
		instant := int64(0)
		for range n {
			if instant += d.int(); instant < 0 || instant >= int64(len(d.times)) {
				d.fail()
				return
			}
			s.Points = append(s.Points, sample.Point{At: d.times[instant], Value: d.value()})
		}
		if ok && !d.bad {
			w.SetSeries(m, e, s)
		}
	}
	at = 0
	for range d.count(5, sizeHist) {
		e, ok := d.entity(&at)
		h := &sample.Hist{Source: d.text()}
		h.Unit = d.text()
		h.Sum = d.value()
		for range d.count(2, 0) {
			i, n := d.uint(), d.uint()
			if i >= uint64(len(h.Counts)) {
				d.fail()
				return
			}
			h.Counts[i] = n
		}
		if ok && !d.bad {
			w.SetHistogram(m, e, h)
		}
	}
}
