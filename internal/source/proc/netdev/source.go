// Package netdev reads what the network interfaces did, from /proc/net/dev,
// and how much TCP had to send again, from /proc/net/snmp.
package netdev

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

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
	speeds   map[string]float64 // bytes a second; 0: it does not say
	asked    time.Time          // since when speeds are kept
}

// speedEvery is how long the speed of a link is believed: to ask is to open a file,
// which takes more than everything else that is read here.
const speedEvery = 10 * time.Second

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
	if now := s.host.Now(); phase == sample.First || now.Sub(s.asked).Abs() >= speedEvery {
		s.speeds, s.asked = map[string]float64{}, now
	}
	all, err := s.interfaces()
	for _, i := range all {
		e := sample.Entity{Device: i.Name}
		s.count(into, sample.NetReceived, e, i.RxBytes, file)
		s.count(into, sample.NetSent, e, i.TxBytes, file)
		s.count(into, sample.NetErrors, e, i.RxErrors+i.TxErrors, file)
		s.count(into, sample.NetDrops, e, i.RxDrops+i.TxDrops, file)
		speed, known := s.speeds[i.Name]
		if !known {
			speed = s.speed(i.Name)
			s.speeds[i.Name] = speed
		}
		if speed > 0 {
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
// do not say, those without a link say -1: 0.
func (s *source) speed(name string) float64 {
	if strings.Contains(name, "/") {
		return 0
	}
	var err error
	if s.buf, err = host.Read(s.host.Sys("class", "net", name, "speed"), s.buf); err != nil {
		return 0
	}
	megabits, err := strconv.ParseInt(strings.TrimSpace(string(s.buf)), 10, 32)
	if err != nil || megabits < 0 {
		return 0
	}
	return float64(megabits) * 1e6 / 8
}

// Close implements sample.Source.
func (s *source) Close() error { return nil }
