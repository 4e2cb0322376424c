package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"iocause/internal/agent"
	"iocause/internal/fleet/fleettest"
	"iocause/internal/host"
)

// pattern is one series of an agent that watches this machine.
type pattern struct {
	name, labels string // labels as the text format has them, without braces
	value, rate  float64
	counter      bool
}

// observed runs an agent on this machine and takes its series twice.
func observed(ctx context.Context) ([]pattern, error) {
	dir, err := os.MkdirTemp("", "iocause-fleet")
	if err != nil {
		return nil, fmt.Errorf("making the agent's directory: %w", err)
	}
	defer os.RemoveAll(dir)
	c := agent.DefaultConfig()
	c.Dir = dir
	if c.Listen, err = free(); err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		ended <- agent.New(host.Live(), c, slog.New(slog.DiscardHandler), nil, "bench/fleet").Run(ctx)
	}()
	defer func() {
		stop()
		<-ended
	}()
	const first, second = 62 * time.Second, 10 * time.Second // the page cache has figures after a minute
	var all []pattern
	for i, wait := range []time.Duration{first, second} {
		select {
		case err := <-ended:
			ended <- nil
			return nil, fmt.Errorf("running an agent: %w", err)
		case <-time.After(wait):
		}
		resp, err := http.Get("http://" + c.Listen + "/metrics")
		if err != nil {
			return nil, fmt.Errorf("asking the agent: %w", err)
		}
		now, err := read(resp.Body)
		resp.Body.Close()
		if err != nil {
			return nil, err
		}
		if i == 0 {
			all = now
			continue
		}
		for _, x := range now {
			at := slices.IndexFunc(all, func(y pattern) bool { return x.name == y.name && x.labels == y.labels })
			if at < 0 {
				continue
			}
			all[at].rate = (x.value - all[at].value) / second.Seconds()
		}
	}
	return slices.DeleteFunc(all, func(p pattern) bool { // the fleet has its own
		return strings.HasPrefix(p.name, "iocause_host_") || strings.HasPrefix(p.name, "iocause_device_info") || strings.HasPrefix(p.name, "iocause_finding")
	}), nil
}

// read takes the text format of Prometheus apart, as the agent writes it.
func read(r io.Reader) (all []pattern, err error) {
	counters := map[string]bool{}
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		l := lines.Text()
		if name, ok := strings.CutPrefix(l, "# TYPE "); ok {
			name, kind, _ := strings.Cut(name, " ")
			counters[name] = kind == "counter"
		}
		at := strings.LastIndexByte(l, ' ')
		if strings.HasPrefix(l, "#") || at < 0 {
			continue
		}
		p := pattern{}
		if p.value, err = strconv.ParseFloat(l[at+1:], 64); err != nil {
			return nil, fmt.Errorf("reading %q: %w", l, err)
		}
		p.name, p.labels, _ = strings.Cut(strings.TrimSuffix(l[:at], "}"), "{")
		p.counter = counters[p.name]
		all = append(all, p)
	}
	return all, lines.Err()
}

// sender is one host: a request whose times and values are changed in place.
type sender struct {
	body   []byte
	places []int // of each value in it
	values []value
}

type value struct {
	now, rate float64
	counter   bool
	whole     bool // it has no fraction
}

// moving draws what the values are after some seconds.
func (s *sender) move(r *rand.Rand, seconds float64, at time.Time) {
	for i := range s.values {
		v := &s.values[i]
		switch {
		case v.counter:
			v.now += v.rate * seconds * 2 * r.Float64()
		case v.rate != 0:
			v.now += math.Abs(v.now) * 0.02 * r.NormFloat64()
		}
		x := v.now
		if v.whole {
			x = math.Round(x)
		} else {
			x = float64(float32(x)) // as the agent rounds fractions
		}
		binary.LittleEndian.PutUint64(s.body[s.places[i]:], math.Float64bits(x))
		binary.PutUvarint(s.body[s.places[i]+9:], uint64(at.UnixMilli())) // of six bytes until the year 2109
	}
}

// add appends a series: protocol buffers of prompb.TimeSeries with one sample.
func (s *sender) add(labels [][2]string, v value) {
	slices.SortFunc(labels, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
	var t []byte
	for _, l := range labels {
		var one []byte
		one = text(text(one, 1, l[0]), 2, l[1])
		t = text(t, 1, string(one))
	}
	const sample = 1 + 8 + 1 + 6
	t = append(t, 2<<3|2, sample, 1<<3|1)
	at := len(t)
	t = append(t, make([]byte, 8+1+6)...)
	t[at+8] = 2 << 3
	begin := len(s.body)
	s.body = text(s.body, 1, string(t))
	s.places = append(s.places, begin+len(s.body[begin:])-len(t)+at)
	s.values = append(s.values, v)
}

func text(b []byte, field byte, s string) []byte {
	b = append(b, field<<3|2)
	b = binary.AppendUvarint(b, uint64(len(s)))
	return append(b, s...)
}

// senderOf is a host of the fleet with the series of the pattern, and its own
// facts, finding and disks.
func senderOf(h *fleettest.Host, number int, all []pattern, r *rand.Rand) *sender {
	s := &sender{}
	mine := func(name string, more ...[2]string) [][2]string {
		return append([][2]string{{"__name__", name}, {"instance", h.Name}}, more...)
	}
	scale := math.Exp(r.NormFloat64())
	for i := range all {
		p := &all[i]
		if strings.HasPrefix(p.name, "iocause_disk_") {
			continue
		}
		s.add(mine(p.name, labelsOf(p.labels)...), value{p.value * r.Float64(), p.rate * scale, p.counter, p.value == math.Trunc(p.value) && p.rate == math.Trunc(p.rate)})
	}
	facts := mine("iocause_host_info", [2]string{"machine", strconv.Itoa(number)})
	for _, f := range h.Facts {
		if f.Setting != "device.model" {
			facts = append(facts, [2]string{f.Setting, f.Value})
		}
	}
	s.add(facts, value{now: 1, whole: true})
	s.add(mine("iocause_finding", [2]string{"cause", h.Cause}, [2]string{"rank", "primary"}, [2]string{"of", "look"}), value{now: 0.5})
	for _, d := range h.Disks {
		s.add(mine("iocause_device_info", [2]string{"device", d.Device}, [2]string{"model", d.Model}), value{now: 1, whole: true})
		l := &d.Loads[0]
		for name, rate := range map[string]float64{
			"reads": l.Ops * l.Reads, "writes": l.Ops * (1 - l.Reads), "read_bytes": l.Bytes * l.Reads, "write_bytes": l.Bytes * (1 - l.Reads),
			"read_time_seconds": l.Depth * l.Reads, "write_time_seconds": l.Depth * (1 - l.Reads), "busy_seconds": min(1, l.Depth), "weighted_time_seconds": l.Depth, "flushes": 1,
		} {
			s.add(mine("iocause_disk_"+name+"_total", [2]string{"device", d.Device}), value{0, rate, true, !strings.Contains(name, "seconds")})
		}
	}
	return s
}

func labelsOf(s string) (out [][2]string) {
	for s != "" {
		name, rest, ok := strings.Cut(s, `="`)
		end := strings.IndexByte(rest, '"') // no value here holds one
		if !ok || end < 0 {
			break
		}
		out = append(out, [2]string{name, rest[:end]})
		s = strings.TrimPrefix(rest[end+1:], ",")
	}
	return out
}

// free is a loopback address that nobody listens on.
func free() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("looking for a free address: %w", err)
	}
	defer l.Close()
	return l.Addr().String(), nil
}
