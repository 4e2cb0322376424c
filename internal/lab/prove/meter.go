package prove

import (
	"bytes"
	"context"
	"iocause/internal/lab"
	"strconv"
	"sync"
	"time"
)

// Meter adds up the work that programs tell of: each line that they write is a
// number of units done since their line before. It is written to by as many of
// them as there are.
type Meter struct {
	mu    sync.Mutex
	parts map[int][]byte // what of a line is there, by who writes
	next  int
	units float64
	lines int
	told  time.Time // when the last line came
}

// From is a place to write for one more program.
func (m *Meter) From(read func(line string) (units float64, ok bool)) *Pen {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.next++
	return &Pen{meter: m, id: m.next, read: read}
}

// Pen is where one program writes.
type Pen struct {
	meter *Meter
	id    int
	read  func(string) (float64, bool)
}

// Number reads a line that is a number.
func Number(line string) (float64, bool) {
	v, err := strconv.ParseFloat(line, 64)
	return v, err == nil
}

// Write implements io.Writer; what is no line of work is dropped.
func (p *Pen) Write(b []byte) (int, error) {
	m := p.meter
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.parts == nil {
		m.parts = map[int][]byte{}
	}
	rest := append(m.parts[p.id], b...)
	for {
		i := bytes.IndexAny(rest, "\r\n")
		if i < 0 {
			break
		}
		if v, ok := p.read(string(bytes.TrimSpace(rest[:i]))); ok {
			m.units += v
			m.lines++
			m.told = time.Now()
		}
		rest = rest[i+1:]
	}
	const longest = 1 << 16
	if len(rest) > longest {
		rest = nil
	}
	m.parts[p.id] = append([]byte(nil), rest...)
	return len(b), nil
}

// now is what was told so far.
func (m *Meter) now() (units float64, lines int, told time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.units, m.lines, m.told
}

// Rate is the work a second, from one line to another that comes d later or a
// little more: so that programs that tell once a second are measured as truly as
// those that tell ten times. Where nothing comes for patience, it is zero.
func (m *Meter) Rate(ctx context.Context, d, patience time.Duration) (float64, error) {
	wait := func(after int, until time.Time, end time.Time) (units float64, lines int, told time.Time, ok bool, err error) {
		for {
			units, lines, told = m.now()
			if lines > after && !told.Before(until) {
				return units, lines, told, true, nil
			}
			if time.Now().After(end) {
				return units, lines, told, false, nil
			}
			if err := lab.Sleep(ctx, 5*time.Millisecond); err != nil {
				return 0, 0, time.Time{}, false, err
			}
		}
	}
	begun := time.Now()
	_, lines, _ := m.now()
	first, lines, from, ok, err := wait(lines, begun, begun.Add(patience))
	if err != nil || !ok {
		return 0, err
	}
	last, _, to, ok, err := wait(lines, from.Add(d), from.Add(d+patience))
	if err != nil {
		return 0, err
	}
	if !ok { // one line, and then nothing
		to = time.Now()
	}
	return (last - first) / to.Sub(from).Seconds(), nil
}

// Began waits until the first line has come.
func (m *Meter) Began(ctx context.Context) error {
	for {
		if _, lines, _ := m.now(); lines > 0 {
			return nil
		}
		if err := lab.Sleep(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
}
