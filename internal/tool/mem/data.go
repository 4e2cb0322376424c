// Package mem says where the memory is, how much of it can be had back, and
// what each process has of it.
package mem

import (
	"errors"
	"fmt"
	"time"

	"iocause/internal/host"
	"iocause/internal/procfile"
	"iocause/internal/source/proc/meminfo"
	"iocause/internal/source/proc/smaps"
)

// Memory is where the memory was at an instant: what is shown, and what an
// incident keeps. Sizes are in bytes.
type Memory struct {
	Version   int              `json:"version"`
	At        time.Time        `json:"at"`
	Info      procfile.Meminfo `json:"meminfo"`
	Beside    meminfo.Beside   `json:"beside"`
	Unread    []string         `json:"unread"` // what of Beside could not be read, and why
	Parts     []meminfo.Part   `json:"parts"`
	Processes []smaps.Process  `json:"processes"`

	chosen bool     // Processes are not all
	notes  []string // on the choice
}

// version is the version of its JSON.
const version = 1

// Sample is how many pages' flags are enough for an estimate: about 0.2 s of a
// processor.
const Sample = 1 << 20

// Options say how to look.
type Options struct {
	Flags    int            // of how many pages the flags are looked at, at most; 0 for all
	Progress func(done int) // processes that were read; it may be nil
}

// Observe looks at the memory once.
func Observe(h *host.Host, o Options) (*Memory, error) {
	m := &Memory{Version: version, At: h.Now()}
	var err error
	if m.Info, err = procfile.ReadMeminfo(h); err != nil {
		return nil, err
	}
	var unread []error
	m.Beside, unread = meminfo.ReadBeside(h, &m.Info, o.Flags)
	for _, err := range unread {
		m.Unread = append(m.Unread, err.Error())
	}
	var ok bool
	if m.Parts, ok = meminfo.Parts(&m.Info, m.Beside); !ok {
		return nil, errors.New("dividing the memory: /proc/meminfo lacks MemTotal, MemFree, AnonPages, Cached, Buffers or Shmem")
	}
	m.Processes, err = smaps.All(h, o.Progress)
	return m, err
}

// Check fails for evidence that lacks what every table needs.
func (m *Memory) Check() error {
	if i := &m.Info; i.Total == nil || i.Cached == nil || i.Buffers == nil || i.Shmem == nil {
		return fmt.Errorf("reading the mem evidence: it lacks MemTotal, Cached, Buffers or Shmem")
	}
	return nil
}
