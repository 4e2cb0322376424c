// Package netdev reads what the network interfaces did, from /proc/net/dev,
// and how much TCP had to send again, from /proc/net/snmp.
package netdev

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"iocause/internal/host"
	"iocause/internal/sample"
)

const (
	file = "/proc/net/dev"
	snmp = "/proc/net/snmp"
)

type key struct {
	metric sample.Metric
	entity sample.Entity
}

type source struct {
	host     *host.Host
	buf      []byte
	counters host.Counters[key]
}

// Metrics is everything that the source emits, by interface (Entity.Device),
// retransmissions by host.
func Metrics() []sample.Metric {
	return []sample.Metric{
		sample.NetReceived, sample.NetSent, sample.NetErrors, sample.NetDrops, sample.NetSpeed,
		sample.TCPSegments, sample.TCPAgain,
	}
}

// Open opens the source. It fails when the interfaces cannot be read.
func Open(h *host.Host) (sample.Source, error) {
	s := &source{host: h}
	if _, err := s.interfaces(); err != nil {
		return nil, err
	}
	return s, nil
}

func (s *source) interfaces() ([]Interface, error) {
	var err error
	if s.buf, err = host.Read(s.host.Proc("net", "dev"), s.buf); err != nil {
		return nil, fmt.Errorf("reading the network interfaces: %w", err)
	}
	all, err := parse(s.buf)
	return all, host.In(file, err)
}

// Collect implements sample.Source.
func (s *source) Collect(phase sample.Phase, into sample.Sink) error {
	if phase == sample.First {
		s.counters.Reset()
	}
	all, err := s.interfaces()
	for _, i := range all {
		e := sample.Entity{Device: i.Name}
		s.count(into, sample.NetReceived, e, i.RxBytes, file)
		s.count(into, sample.NetSent, e, i.TxBytes, file)
		s.count(into, sample.NetErrors, e, i.RxErrors+i.TxErrors, file)
		s.count(into, sample.NetDrops, e, i.RxDrops+i.TxDrops, file)
		if speed, ok := s.speed(i.Name); ok {
			into.Put(sample.NetSpeed, e, speed, "/sys/class/net")
		}
	}
	return errors.Join(err, s.tcp(into))
}

func (s *source) tcp(into sample.Sink) error {
	var err error
	if s.buf, err = host.Read(s.host.Proc("net", "snmp"), s.buf); err != nil {
		return fmt.Errorf("reading TCP's retransmissions: %w", err)
	}
	segments, err := parseTCP(s.buf)
	if err != nil {
		return host.In(snmp, err)
	}
	s.count(into, sample.TCPSegments, sample.Entity{}, segments.Out, snmp)
	s.count(into, sample.TCPAgain, sample.Entity{}, segments.Again, snmp)
	return nil
}

// count emits an increase. An interface that was taken away and came back
// counts from zero again.
func (s *source) count(into sample.Sink, m sample.Metric, e sample.Entity, now uint64, from string) {
	rise, how := s.counters.Step(key{m, e}, now)
	switch how {
	case host.Rose:
		into.Put(m, e, float64(rise), from)
	case host.Fell:
		into.PutGap(sample.Gap{
			Why:     fmt.Sprintf("%s: %s of %q fell, so it was reset and part of its increase is lost", from, m, e.Device),
			Metrics: []sample.Metric{m},
		})
	}
}

// speed is what an interface can carry, bytes a second one way. Virtual ones
// do not say, those without a link say -1.
func (s *source) speed(name string) (float64, bool) {
	if strings.Contains(name, "/") {
		return 0, false
	}
	b, err := host.Read(s.host.Sys("class", "net", name, "speed"), nil)
	if err != nil {
		return 0, false
	}
	megabits, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 32)
	return float64(megabits) * 1e6 / 8, err == nil && megabits > 0
}

// Close implements sample.Source.
func (s *source) Close() error { return nil }
