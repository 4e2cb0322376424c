package cgroup

import (
	"bytes"
	"fmt"

	"iocause/internal/host"
)

// parseNumber reads a file of one number.
func parseNumber(b []byte) (uint64, error) {
	s := bytes.TrimSpace(b)
	v, ok := host.Uint(s)
	if !ok {
		return 0, &host.LineError{Line: 1, What: fmt.Sprintf("%.40q is not a number", s)}
	}
	return v, nil
}

// Direction and measure: the figures that each device has, and their limits.
const (
	readBytes = iota
	writeBytes
	reads
	writes
	figures
)

// IO are figures by device: bytes and operations since the cgroup came to be,
// or as limits a second. A figure that is not Known is absent, or unlimited.
type IO struct {
	Value [figures]uint64
	Known [figures]bool
	Cost  [costs]*uint64 // us; of version 2 where io.cost is on
}

// What io.cost tells of a device.
const (
	costUsage = iota // time of the device that was charged
	costWait         // how long requests were held back; with the kernel's blkcg_debug_stats
	costs
)

// addCost adds up: requests wait, and so do threads for what they owe.
func (x *IO) addCost(i int, v uint64) {
	if old := x.Cost[i]; old != nil {
		v += *old
	}
	x.Cost[i] = &v
}

func (x *IO) set(i int, v uint64) { x.Value[i], x.Known[i] = v, true }

// devices are the figures of one cgroup.
type devices map[host.DevNumber]*IO

func (d devices) of(dev host.DevNumber) *IO {
	x := d[dev]
	if x == nil {
		x = &IO{}
		d[dev] = x
	}
	return x
}

// parseV1IO reads blkio.throttle.io_service_bytes (first is readBytes) or
// io_serviced (first is reads) into d: "254:0 Read 4284416".
func parseV1IO(b []byte, first int, d devices) error {
	for n := 1; len(b) > 0; n++ {
		var line []byte
		line, b = host.Line(b)
		name, rest := host.Field(line)
		dev, ok := host.ParseDev(name)
		if !ok {
			continue // "Total"
		}
		op, rest := host.Field(rest)
		i := first
		switch string(op) {
		case "Read":
		case "Write":
			i++
		default:
			continue
		}
		f, _ := host.Field(rest)
		v, ok := host.Uint(f)
		if !ok {
			return &host.LineError{Line: n, What: fmt.Sprintf("%s of %s, %.40q, is not a number", op, name, f)}
		}
		d.of(dev).set(i, v)
	}
	return nil
}

// parseV1Limit reads blkio.throttle.*_device into figure i: "254:0 1048576".
func parseV1Limit(b []byte, i int, d devices) error {
	return eachDevice(b, "", "limit", func(dev host.DevNumber, v uint64) { d.of(dev).set(i, v) })
}

// eachDevice calls f for each line of a device and a figure behind prefix, which is a
// what: "8:16 target=75000".
func eachDevice(b []byte, prefix, what string, f func(host.DevNumber, uint64)) error {
	for n := 1; len(b) > 0; n++ {
		var line []byte
		line, b = host.Line(b)
		name, rest := host.Field(line)
		if len(name) == 0 {
			continue
		}
		value, _ := host.Field(rest)
		dev, ok := host.ParseDev(name)
		v, ok2 := host.Uint(bytes.TrimPrefix(value, []byte(prefix)))
		if !ok || !ok2 {
			return &host.LineError{Line: n, What: fmt.Sprintf("%.60q is not a %s", line, what)}
		}
		f(dev, v)
	}
	return nil
}

// parseV2IO reads io.stat (rbytes wbytes rios wios) or io.max (rbps wbps riops
// wiops, "max" without a limit): "8:16 rbytes=1459200 wbytes=314773504 ...".
// Kernels have been seen to write a device without figures and without the
// line's end before the next device.
func parseV2IO(b []byte, d devices) error {
	for n := 1; len(b) > 0; n++ {
		var line, f []byte
		line, b = host.Line(b)
		var x *IO
		for {
			if f, line = host.Field(line); len(f) == 0 {
				break
			}
			key, value, ok := bytes.Cut(f, []byte("="))
			if !ok {
				dev, ok := host.ParseDev(f)
				if !ok {
					return &host.LineError{Line: n, What: fmt.Sprintf("%.40q is not a device", f)}
				}
				x = d.of(dev)
				continue
			}
			i, cost := -1, -1
			switch string(key) {
			case "rbytes", "rbps":
				i = readBytes
			case "wbytes", "wbps":
				i = writeBytes
			case "rios", "riops":
				i = reads
			case "wios", "wiops":
				i = writes
			case "cost.usage":
				cost = costUsage
			case "cost.wait", "cost.indelay":
				cost = costWait
			}
			if i < 0 && cost < 0 || string(value) == "max" {
				continue
			}
			v, ok := host.Uint(value)
			if !ok || x == nil {
				return &host.LineError{Line: n, What: fmt.Sprintf("%.40q is not a device's figure", f)}
			}
			if cost >= 0 {
				x.addCost(cost, v)
			} else {
				x.set(i, v)
			}
		}
	}
	return nil
}

// parseTargets reads io.latency, in microseconds: "8:16 target=75000".
func parseTargets(b []byte) (map[host.DevNumber]uint64, error) {
	targets := map[host.DevNumber]uint64{}
	err := eachDevice(b, "target=", "target", func(dev host.DevNumber, us uint64) { targets[dev] = us })
	return targets, err
}
