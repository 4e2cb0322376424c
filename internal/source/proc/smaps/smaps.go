// Package smaps reads how much memory processes take, by kind, and their share
// of what they have in common with others: /proc/PID/status and smaps_rollup.
package smaps

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"

	"iocause/internal/host"
	"iocause/internal/procfile"
	"iocause/internal/sample"
)

// Process is the memory of one process, in bytes.
type Process struct {
	PID    int            `json:"pid"`
	Comm   sample.RawName `json:"comm"`
	Anon   uint64         `json:"anon_bytes"`  // resident: its own data
	File   uint64         `json:"file_bytes"`  // resident: mapped pages of files
	Shmem  uint64         `json:"shmem_bytes"` // resident: shared memory and tmpfs
	Swap   uint64         `json:"swap_bytes"`
	Shares *Shares        `json:"shares"`           // nil where they could not be read
	Unread string         `json:"unread,omitempty"` // why
}

// RSS is all that is resident.
func (p *Process) RSS() uint64 { return p.Anon + p.File + p.Shmem }

// Shares are proportional: a page that n processes map counts 1/n for each.
type Shares struct {
	All, Anon, File, Shmem uint64 // bytes; the kinds are 0 before 5.9
	Locked                 uint64 // by mlock(2), not proportional before 4.20
}

// All reads every process but kernel threads, which have no memory of their
// own, and ourselves. progress, which may be nil, is told how many are read,
// by several goroutines, one at a time.
func All(h *host.Host, progress func(done int)) ([]Process, error) {
	entries, err := os.ReadDir(h.Proc())
	if err != nil {
		return nil, fmt.Errorf("listing the processes: %w", err)
	}
	var mu sync.Mutex
	var out []Process
	next := 0
	var done sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), 8) {
		done.Go(func() {
			var buf []byte
			for {
				mu.Lock()
				i := next
				next++
				if progress != nil && i%100 == 0 {
					progress(i)
				}
				mu.Unlock()
				if i >= len(entries) {
					return
				}
				pid, err := strconv.Atoi(entries[i].Name())
				if err != nil || pid == h.Self {
					continue
				}
				var p Process
				var ok bool
				if p, buf, ok = read(h, pid, buf); ok {
					mu.Lock()
					out = append(out, p)
					mu.Unlock()
				}
			}
		})
	}
	done.Wait()
	return out, nil
}

// read is false for processes that have ended and for kernel threads.
func read(h *host.Host, pid int, buf []byte) (Process, []byte, bool) {
	p := Process{PID: pid}
	var err error
	if buf, err = host.Read(h.Proc(strconv.Itoa(pid), "status"), buf); err != nil {
		return p, buf, false
	}
	status, err := procfile.ParseStatus(buf)
	if err != nil || status.Anon == nil {
		return p, buf, false
	}
	p.Anon, p.File, p.Shmem, p.Swap = orZero(status.Anon), orZero(status.File), orZero(status.Shmem), orZero(status.Swap)
	comm, err := h.CommOf(pid)
	if err != nil {
		return p, buf, false
	}
	p.Comm = sample.RawName(comm)
	if buf, err = host.Read(h.Proc(strconv.Itoa(pid), "smaps_rollup"), buf); err != nil {
		p.Unread = fmt.Sprintf("reading the shares of process %d: %v", pid, err)
		return p, buf, !errors.Is(err, unix.ESRCH) && !gone(h, pid)
	}
	if p.Shares, err = parseShares(buf); err != nil {
		p.Unread = fmt.Sprintf("reading the shares of process %d: %v", pid, err)
	}
	return p, buf, true
}

func gone(h *host.Host, pid int) bool {
	_, err := os.Stat(h.Proc(strconv.Itoa(pid)))
	return errors.Is(err, os.ErrNotExist)
}

var errNoShares = errors.New("its smaps_rollup has none")

// parseShares reads /proc/PID/smaps_rollup (proc_pid_smaps(5)).
func parseShares(b []byte) (*Shares, error) {
	var all, anon, file, shmem, locked *uint64
	err := host.Amounts(b, func(key []byte) **uint64 {
		switch string(key) {
		case "Pss":
			return &all
		case "Pss_Anon":
			return &anon
		case "Pss_File":
			return &file
		case "Pss_Shmem":
			return &shmem
		case "Locked":
			return &locked
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if all == nil {
		return nil, errNoShares
	}
	return &Shares{All: *all, Anon: orZero(anon), File: orZero(file), Shmem: orZero(shmem), Locked: orZero(locked)}, nil
}

func orZero(v *uint64) uint64 {
	if v == nil {
		return 0
	}
	return *v
}
