package bpf

import (
	"bytes"
	"fmt"
	"time"

	"iocause/internal/host"
	"iocause/internal/sample"
)

// process is struct process of include/process.bpf.h.
type process struct {
	Start                  uint64
	MemoryCgroup, IOCgroup uint64
	Kernel                 uint32
	Comm                   [16]byte
	_                      [4]byte
}

// onRename is the program of include/process.bpf.h; Open attaches it.
const onRename = "on_rename"

// Processes emits who the processes are that the object's programs have met, and
// forgets those that have ended: they are told for the last time.
func (p *Probe) Processes(lookup *host.Lookup, into sample.Sink) error {
	var gone []uint32
	ended := lookup.Ended()
	err := Each(p.Map("processes"), func(tgid uint32, v process) {
		comm, _, _ := bytes.Cut(v.Comm[:], []byte{0})
		into.PutProcess(int(tgid), sample.Process{
			Comm:         string(comm),
			Start:        time.Duration(v.Start),
			Kernel:       v.Kernel != 0,
			MemoryCgroup: lookup.MemoryCgroup(v.MemoryCgroup),
			IOCgroup:     lookup.IOCgroup(v.IOCgroup),
		})
		if ended(tgid) {
			gone = append(gone, tgid)
		}
	})
	if err != nil {
		return fmt.Errorf("reading the processes that were seen: %w", err)
	}
	for _, tgid := range gone {
		if _, _, err := Take[uint32, process](p.Map("processes"), tgid); err != nil {
			return err
		}
	}
	return nil
}
