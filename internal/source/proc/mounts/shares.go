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
			s.served(dev, "SMB", x.Ended, fromCIFS, into)
			if took, ok := s.took(dev, "SMB", x.Time); ok {
				into.Put(sample.ServedTime, servedBy(dev, "SMB"), took, fromCIFS)
			}
		default:
			s.served(dev, "SMB", x.Requests, fromCIFS, into)
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
	const mostOff = 0.05 // of the time, by which it may be off
	all, sure := map[string]float64{}, true
	for _, x := range procfile.ParseCephLatency(b) {
		rise, rose := s.served(dev, x.Name, x.Requests, fromCeph, into)
		took, ok := s.took(dev, x.Name, x.Time)
		all[x.Name] = took
		sure = sure && ok && rose && (rise == 0 || x.Off <= mostOff*took)
	}
	for class, took := range all {
		if sure { // of some alone the mean would be wrong
			into.Put(sample.ServedTime, servedBy(dev, class), took, fromCeph)
		}
	}
	return nil
}

func servedBy(dev host.DevNumber, class string) sample.Entity {
	return sample.Entity{Device: dev.String(), Class: class}
}

// served emits by how much requests rose.
func (s *source) served(dev host.DevNumber, class string, requests uint64, from string, into sample.Sink) (rise uint64, rose bool) {
	e := servedBy(dev, class)
	rise, how := s.counters.Step(key{sample.ServedRequests, e}, requests)
	if how == host.Rose {
		into.Put(sample.ServedRequests, e, float64(rise), from)
	}
	return rise, how == host.Rose
}

// took is by how many seconds the time of all requests rose.
func (s *source) took(dev host.DevNumber, class string, seconds float64) (rise float64, rose bool) {
	const nanosecond = 1e-9
	n, how := s.counters.Step(key{sample.ServedTime, servedBy(dev, class)}, uint64(seconds/nanosecond))
	return float64(n) * nanosecond, how == host.Rose
}
