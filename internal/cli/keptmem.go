package cli

import (
	"errors"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"iocause/internal/procfile"
	"iocause/internal/sample"
	"iocause/internal/source/proc/meminfo"
	"iocause/internal/source/proc/smaps"
)

// keptMemory is where the memory was, as evidence. Sizes are in bytes.
type keptMemory struct {
	Version   int              `json:"version"`
	At        time.Time        `json:"at"`
	Info      procfile.Meminfo `json:"meminfo"`
	Beside    meminfo.Beside   `json:"beside"`
	Unread    []string         `json:"unread"` // of Beside, and why
	Parts     []meminfo.Part   `json:"parts"`
	Processes []keptProcess    `json:"processes"`
}

type keptProcess struct {
	PID    int            `json:"pid"`
	Comm   sample.RawName `json:"comm"`
	Anon   uint64         `json:"anon_bytes"`
	File   uint64         `json:"file_bytes"`
	Shmem  uint64         `json:"shmem_bytes"`
	Swap   uint64         `json:"swap_bytes"`
	Shares *smaps.Shares  `json:"shares"` // nil where they could not be read
	Unread string         `json:"unread,omitempty"`
}

// keepMemory looks at the memory once.
func (a *app) keepMemory() ([]byte, error) {
	at := a.host.Now()
	now, err := a.takeMemory(sampled)
	if err != nil {
		return nil, err
	}
	out := &keptMemory{Version: 1, At: at, Info: now.info, Beside: now.beside, Parts: now.parts}
	for _, err := range now.beside.Errors {
		out.Unread = append(out.Unread, err.Error())
	}
	out.Beside.Errors = nil
	for _, p := range now.processes {
		k := keptProcess{PID: p.PID, Comm: sample.RawName(p.Comm), Anon: p.Anon, File: p.File, Shmem: p.Shmem, Swap: p.Swap, Shares: p.Shares}
		if p.Err != nil {
			k.Unread = p.Err.Error()
		}
		out.Processes = append(out.Processes, k)
	}
	return keepJSON(out)
}

// memory is the evidence as it was seen.
func (k *keptMemory) memory() (*memory, error) {
	if m := &k.Info; m.Total == nil || m.Cached == nil || m.Buffers == nil || m.Shmem == nil {
		return nil, errors.New("reading the mem evidence: it lacks MemTotal, Cached, Buffers or Shmem")
	}
	m := &memory{info: k.Info, beside: k.Beside, parts: k.Parts}
	for _, why := range k.Unread {
		m.beside.Errors = append(m.beside.Errors, errors.New(why))
	}
	for _, p := range k.Processes {
		one := smaps.Process{PID: p.PID, Comm: string(p.Comm), Anon: p.Anon, File: p.File, Shmem: p.Shmem, Swap: p.Swap, Shares: p.Shares}
		if p.Unread != "" {
			one.Err = errors.New(p.Unread)
		}
		m.processes = append(m.processes, one)
	}
	return m, nil
}

// playMemory shows the memory of an incident.
func (a *app) playMemory(c *cobra.Command, o *memOptions, data []byte, args []string) error {
	if err := oneTime(args); err != nil {
		return err
	}
	if err := onlyLive(c, "an incident holds the memory of processes, not their cgroups and files", "cgroup", "device", "file", "exact"); err != nil {
		return err
	}
	if err := o.args(nil); err != nil {
		return err
	}
	target, err := o.filter.recordedTarget(o.filter.given(c))
	if err != nil {
		return err
	}
	was, err := keptAs[keptMemory](data, sectionMem)
	if err != nil {
		return err
	}
	now, err := was.memory()
	if err != nil {
		return err
	}
	chosen := len(target.PIDs) > 0 || target.Comm != ""
	now.processes = slices.DeleteFunc(now.processes, func(p smaps.Process) bool {
		return len(target.PIDs) > 0 && p.PID != target.PIDs[0] || target.Comm != "" && p.Comm != target.Comm
	})
	if chosen && len(now.processes) == 0 {
		now.filtered = append(now.filtered, "no such process was there")
	}
	p := a.newPrinter(&o.intervals)
	return p.print(was.At, 0, "", memoryTables(p, o, now, nil, chosen))
}
