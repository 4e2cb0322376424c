package mounts

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"iocause/internal/host"
	"iocause/internal/procfile"
	"iocause/internal/sample"
)

const (
	fromCIFS = "/proc/fs/cifs/Stats"
	fromCeph = "/sys/kernel/debug/ceph"
)

// cifs tells what the kernel counts of CIFS shares, by where they are mounted from.
// Reading it takes spin locks only: it does not wait for a server. Times are those of
// a server's all commands, so they are told where the server has one share.
func (s *source) cifs(devs map[string]host.DevNumber, into sample.Sink) error {
	b, err := host.Read(s.host.Proc("fs", "cifs", "Stats"), nil)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a kernel without these statistics
	}
	if err != nil {
		return fmt.Errorf("reading what the CIFS client counts: %w", err)
	}
	for _, x := range procfile.ParseCIFSStats(b) {
		dev, ok := devs[strings.ToLower(x.Name)]
		switch {
		case !ok:
		case x.Timed && x.Alone:
			s.served(dev, "SMB", x.Ended, x.Time, true, fromCIFS, into)
		default:
			s.served(dev, "SMB", x.Requests, 0, false, fromCIFS, into)
		}
	}
	return nil
}

// ceph tells what the kernel counts of Ceph: where there is one cluster, for its file
// system. metrics/latency (Linux 5.17) takes spin locks only; the older single file
// may wait for a session with a server that is gone, and is not read.
func (s *source) ceph(dev host.DevNumber, into sample.Sink) error {
	clients, err := os.ReadDir(s.host.Sys("kernel", "debug", "ceph"))
	if err != nil || len(clients) != 1 {
		return nil // debugfs is not mounted or not for us, or whose figures they are is not known
	}
	b, err := host.Read(s.host.Sys("kernel", "debug", "ceph", clients[0].Name(), "metrics", "latency"), nil)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading what the Ceph client counts: %w", err)
	}
	for _, x := range procfile.ParseCephLatency(b) {
		s.served(dev, x.Name, x.Requests, x.Time, true, fromCeph, into)
	}
	return nil
}

// served emits by how much requests, and the time of all of them, rose.
func (s *source) served(dev host.DevNumber, class string, requests uint64, seconds float64, timed bool, from string, into sample.Sink) {
	e := sample.Entity{Device: dev.String(), Class: class}
	const nanosecond = 1e-9
	rise, how := s.counters.Step(key{sample.ServedRequests, e}, requests)
	if how == host.Rose {
		into.Put(sample.ServedRequests, e, float64(rise), from)
	}
	if !timed {
		return
	}
	if t, how := s.counters.Step(key{sample.ServedTime, e}, uint64(seconds/nanosecond)); how == host.Rose {
		into.Put(sample.ServedTime, e, float64(t)*nanosecond, from)
	}
}
