package lab

import (
	"context"
	"fmt"
	"os"
	"time"

	"iocause/internal/ask"
	"iocause/internal/host"
	"iocause/internal/lab/load"
	"iocause/internal/table"
)

// leastLeft is what must stay available, in bytes: below it programs wait for the
// kernel to find memory, and a burst of theirs ends in its OOM killer.
const leastLeft = 128 << 20

// Meal is memory that is to be taken. Sizes are bytes; either Size or Leave, what
// is to stay available on the host, is given.
type Meal struct {
	Size, Leave int64
	Tmpfs, Lock bool
	Force       bool // even if the OOM killer may come
}

// Eaten is what was taken. It is what 'iocause lab eat' says.
type Eaten struct {
	Kind      string  `json:"kind"` // "anonymous" or "tmpfs"
	PID       int     `json:"pid"`
	Wanted    int64   `json:"wanted_bytes"` // 0 with --available
	Leave     int64   `json:"wanted_available_bytes,omitempty"`
	Held      int64   `json:"held_bytes"`     // mapped, and every page touched
	Resident  int64   `json:"resident_bytes"` // of these in memory, by mincore(2)
	Locked    bool    `json:"locked"`
	Before    int64   `json:"available_before_bytes"` // MemAvailable
	Available int64   `json:"available_bytes"`
	Seconds   float64 `json:"seconds"` // that taking it took
}

// Check refuses what would bring the OOM killer.
func (m *Meal) Check(h *host.Host) error {
	room, err := MemoryRoom(h, !m.Lock)
	if err != nil || m.Force {
		return err
	}
	size := m.Size
	if m.Leave > 0 {
		size = max(room.Available-m.Leave, 0)
	}
	if m.Leave > 0 && m.Leave < leastLeft || room.Bytes-size < leastLeft {
		most := max(room.Bytes-leastLeft, 0)
		return &ask.Error{Err: fmt.Errorf("taking %s: %s leaves room for only %s, so the OOM killer may act",
			table.Value(float64(size), "bytes"), room.By, table.Value(float64(most), "bytes")), Next: "take less, or give --force"}
	}
	return nil
}

// Take takes it, and tells how far that is. What it returns is to be released; after
// an error nothing is held.
func (m *Meal) Take(ctx context.Context, h *host.Host, progress func(held, want int64)) (*load.Hoard, *Eaten, error) {
	before, err := MemoryRoom(h, false)
	if err != nil {
		return nil, nil, err
	}
	spec := load.HoardSpec{Size: m.Size, Leave: m.Leave, Tmpfs: m.Tmpfs, Lock: m.Lock, Floor: leastLeft}
	if m.Force {
		spec.Floor = 0
	}
	start := time.Now()
	hoard, err := load.Take(ctx, spec, progress)
	if err != nil {
		return nil, nil, fmt.Errorf("taking memory: %w; all of it is freed", err)
	}
	took := time.Since(start)
	e := &Eaten{
		Kind: "anonymous", PID: os.Getpid(), Wanted: m.Size, Leave: m.Leave, Held: hoard.Held(), Locked: m.Lock,
		Before: before.Available, Seconds: took.Seconds(),
	}
	if m.Tmpfs {
		e.Kind = "tmpfs"
	}
	now, err := MemoryRoom(h, false)
	if err == nil {
		e.Available = now.Available
		e.Resident, err = hoard.Resident()
	}
	if err != nil {
		_ = hoard.Release() // the error that is returned is the one to know
		return nil, nil, err
	}
	return hoard, e, nil
}
