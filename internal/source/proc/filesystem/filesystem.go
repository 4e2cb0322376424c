// Package filesystem reads how full the file systems on block devices are
// (statfs(2) of those in /proc/self/mountinfo), how large the journal of ext4 is, and
// the mount options that change how they read and write. Network file systems are left
// out: asking one whose server is gone takes for ever.
package filesystem

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"iocause/internal/host"
	"iocause/internal/sample"
)

// ErrNotLive is a captured host: its file systems cannot be asked.
var ErrNotLive = errors.New("a captured host has no file systems")

type source struct {
	host   *host.Host
	statfs func(string, *unix.Statfs_t) error
	asked  *sync.Map // when each question was asked that has not come back, by its question
}

// Metrics are what it emits.
func Metrics() []sample.Metric {
	return []sample.Metric{sample.FSSize, sample.FSAvailable, sample.FSInodes, sample.FSInodesFree, sample.FSJournal, sample.FSOption}
}

// Opener gives what opens the source. All that one opens know together which file
// systems have not answered: however many ask, and however often, each of these keeps
// one thread.
func Opener() func(*host.Host) (sample.Source, error) {
	asked := &sync.Map{}
	return func(h *host.Host) (sample.Source, error) {
		if !h.IsLive {
			return nil, fmt.Errorf("reading how full file systems are: %w", ErrNotLive)
		}
		if _, err := h.Mounts(); err != nil {
			return nil, err
		}
		return &source{host: h, statfs: unix.Statfs, asked: asked}, nil
	}
}

// Collect implements sample.Source: the fill levels are read at the start. A
// file system that cannot be asked does not keep the others from it.
func (s *source) Collect(phase sample.Phase, into sample.Sink) error {
	if phase != sample.First {
		return nil
	}
	mounts, err := s.host.Mounts()
	if err != nil {
		return err
	}
	devices, err := s.host.Devices()
	if err != nil {
		return err
	}
	var errs []error
	for _, a := range s.askAll(onDevices(mounts)) {
		if a.err != nil {
			errs = append(errs, fmt.Errorf("asking the file system at %q how full it is: %w", a.mount.Point, a.err))
			continue
		}
		e := sample.Entity{Class: a.mount.Point}
		e.Device = s.disk(&a.mount, devices)
		put(into, e, &a.st)
		if a.journal > 0 {
			into.Put(sample.FSJournal, e, float64(a.journal), "superblock of "+a.mount.Source)
		}
		for _, o := range a.mount.Super {
			if matters(o) {
				into.Put(sample.FSOption, sample.Entity{Device: e.Device, Class: o + " " + a.mount.Point}, 1, "/proc/self/mountinfo")
			}
		}
	}
	return errors.Join(errs...)
}

// disk is the disk that a file system lies on. Those that span several devices (btrfs)
// have a number of their own; the device that they are mounted from stands for them.
func (s *source) disk(m *host.Mount, devices *host.Devices) string {
	disk, ok := devices.Disk(m.Dev)
	if !ok && m.Dev.Major() == 0 {
		disk, _ = s.host.WholeDisk(m.Source)
	}
	return disk
}

// question is which file system is asked: one may be mounted over another.
type question struct {
	point string
	dev   host.DevNumber
}

// answer is what a file system said, or why it said nothing.
type answer struct {
	mount   host.Mount
	st      unix.Statfs_t
	journal uint64 // bytes; 0 where it is not known
	err     error
}

// patience is how long all file systems together may take to answer: one whose device
// is gone may never do.
const patience = time.Second

// atOnce bounds how many are asked at the same time: each that does not answer keeps a
// thread.
const atOnce = 128

var (
	// errSilent is a file system that did not answer.
	errSilent = fmt.Errorf("it did not answer within %v", patience)
	// errStill is one that has not answered since it was asked before.
	errStill = errors.New("it has not answered since it was asked before, and is not asked again until it does")
	// errCrowd is one whose turn never came.
	errCrowd = fmt.Errorf("it was not asked: %d others did not answer within %v", atOnce, patience)
)

// askAll asks the file systems side by side, in the order of their mounts.
func (s *source) askAll(mounts host.Mounts) []answer {
	answers, turns, over := make([]chan answer, len(mounts)), make(chan struct{}, atOnce), make(chan struct{})
	began := make([]atomic.Bool, len(mounts))
	for i, m := range mounts {
		answers[i] = make(chan answer, 1) // who answers too late finds room, and ends
		go func() {
			select {
			case turns <- struct{}{}:
			case <-over:
				return
			}
			began[i].Store(true)
			a := s.ask(m)
			<-turns
			answers[i] <- a
		}()
	}
	all := s.gather(mounts, answers)
	close(over)
	for i := range all {
		if errors.Is(all[i].err, errSilent) && !began[i].Load() {
			all[i].err = errCrowd
		}
	}
	return all
}

// ask asks one file system, unless the question before is still on its way: it would
// keep one thread more each time.
func (s *source) ask(m host.Mount) answer {
	a, q := answer{mount: m}, question{m.Point, m.Dev}
	switch since, still := s.asked.LoadOrStore(q, time.Now()); {
	case !still:
		defer s.asked.Delete(q)
	case time.Since(since.(time.Time)) >= patience/2: // else another source asks just now
		a.err = errStill
		return a
	}
	if a.err = s.statfs(m.Point, &a.st); a.err == nil && (m.Type == "ext4" || m.Type == "ext3") {
		a.journal = journal(m.Source) // the device may hang when it is opened, too
	}
	return a
}

// gather waits for the answers, for all of them together no longer than patience.
func (s *source) gather(mounts host.Mounts, answers []chan answer) []answer {
	late := time.NewTimer(patience)
	defer late.Stop()
	all, over := make([]answer, len(mounts)), false
	for i, m := range mounts {
		all[i] = answer{mount: m, err: errSilent}
		if !over {
			select {
			case all[i] = <-answers[i]:
				continue
			case <-late.C:
				over = true
			}
		}
		select {
		case all[i] = <-answers[i]:
		default:
		}
	}
	return all
}

func put(into sample.Sink, e sample.Entity, st *unix.Statfs_t) {
	const from = "statfs(2)"
	unit := float64(st.Frsize)
	into.Put(sample.FSSize, e, float64(st.Blocks)*unit, from)
	into.Put(sample.FSAvailable, e, float64(st.Bavail)*unit, from)
	if st.Files > 0 { // some make inodes as they need them
		into.Put(sample.FSInodes, e, float64(st.Files), from)
		into.Put(sample.FSInodesFree, e, float64(st.Ffree), from)
	}
}

// fixed are types that nothing is written to: they have no room by nature, and
// each snap and each image that is mounted would look full.
const fixed = " squashfs erofs cramfs romfs iso9660 udf "

// onDevices are the file systems on block devices, each once, where most of it
// is mounted. What FUSE has at /dev/fuse is on none, and a daemon answers for it.
func onDevices(all host.Mounts) host.Mounts {
	var out host.Mounts
	seen := map[host.DevNumber]bool{}
	for _, m := range all {
		if seen[m.Dev] || !strings.HasPrefix(m.Source, "/dev/") || m.Type == "devtmpfs" || strings.HasPrefix(m.Type, "fuse") ||
			strings.Contains(fixed, " "+m.Type+" ") {
			continue
		}
		seen[m.Dev] = true
		best, _ := all.Find(m.Dev)
		out = append(out, best)
	}
	return out
}

// Close implements sample.Source.
func (s *source) Close() error { return nil }
