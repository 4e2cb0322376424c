// Package health asks devices how they are: NVMe controllers for their SMART log,
// SATA disks for their SMART attributes, both for their write cache, EBS volumes for
// how long their caps were exceeded. It asks rarely, wakes no disk that sleeps, sends
// nothing that a device would enter into its error log, and waits for none: who does
// not answer in time is said, and asked again when the answer has come.
package health

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"iocause/internal/host"
	"iocause/internal/sample"
)

const (
	every = 5 * time.Minute        // between two questions to a device, but at the end
	wait  = 250 * time.Millisecond // for all answers in one collection
	most  = 128                    // devices that are asked
)

// ErrNotLive is a captured host: its devices cannot be asked.
var ErrNotLive = errors.New("a captured host has no devices")

// Metrics are what it emits.
func Metrics() []sample.Metric {
	return append(healthMetrics(), sample.CloudExceeded, sample.CloudOps, sample.CloudTime, sample.CloudQueue, sample.CloudBinOps)
}

func healthMetrics() []sample.Metric {
	return []sample.Metric{
		sample.HealthWarnings, sample.HealthErrors, sample.HealthSpare, sample.HealthUsed, sample.HealthCelsius,
		sample.HealthHot, sample.HealthThrottled, sample.HealthAsleep, sample.DeviceCacheThere, sample.DeviceCacheOn,
	}
}

// reading is what a device answered; nil is not known.
type reading struct {
	asleep, warned                       bool // warned: it was asked for warnings
	warnings                             []string
	errors                               map[string]float64 // by what
	spare, used, celsius, hot, throttled *float64
	cacheThere, cacheOn                  *bool
	cloud                                *cloud
	err                                  error
	cloudErr                             error
	whole                                bool // more than the cloud's counters was asked for
}

// device is one that is asked.
type device struct {
	ask     func(whole bool) reading
	from    string
	answer  chan reading // holds one
	since   time.Time    // when the question was put that has no answer yet; zero for none
	last    reading
	known   bool      // last is an answer
	at      time.Time // of it
	fresh   bool      // last was not told yet
	counter host.Counters[counted]
}

// counted is a counter of the cloud's.
type counted struct {
	metric sample.Metric
	class  string
}

type source struct {
	host    *host.Host
	ask     Asker
	devices map[string]*device
}

// Open opens the source on the live machine.
func Open(h *host.Host) (sample.Source, error) {
	if !h.IsLive {
		return nil, fmt.Errorf("asking devices how they are: %w", ErrNotLive)
	}
	return New(h, ioctls{})
}

// New is Open with something else that is asked in place of the devices.
func New(h *host.Host, ask Asker) (sample.Source, error) {
	if _, err := h.Devices(); err != nil {
		return nil, err
	}
	return &source{host: h, ask: ask, devices: map[string]*device{}}, nil
}

// Collect implements sample.Source: where a window begins and ends.
func (s *source) Collect(phase sample.Phase, into sample.Sink) error {
	if phase != sample.First && !phase.Closes() {
		return nil
	}
	all, err := s.host.Devices()
	if err != nil {
		return err
	}
	asked, left := s.find(all, into)
	now := s.host.Now()
	for _, name := range asked {
		d := s.devices[name]
		d.take(now)
		if d.fresh {
			d.tell(name, into)
		}
		if whole := !d.known || phase != sample.IntervalEnd || now.Sub(d.at) >= every; d.since.IsZero() && (whole || d.last.cloud != nil) {
			d.since = now
			go func() { d.answer <- d.ask(whole) }()
		}
	}
	s.await(asked)
	into.Put(sample.HealthAsleep, sample.Entity{}, 0, "/sys/block") // none at all is a measurement, too
	for _, name := range asked {
		if d := s.devices[name]; d.fresh || phase.Closes() {
			d.tell(name, into)
		}
	}
	s.gaps(asked, left, into)
	return nil
}

// find lists the devices that can be asked, and emits what sysfs says of others; left
// is how many are too many.
func (s *source) find(all *host.Devices, into sample.Sink) (asked []string, left int) {
	for _, d := range all.Disks() {
		ask := s.askFor(d.Name)
		switch {
		case strings.HasPrefix(d.Name, "vd"):
			s.virtio(d.Name, into)
			continue
		case ask == nil || d.Bytes == 0:
			continue
		case len(asked) == most:
			left++
			continue
		}
		asked = append(asked, d.Name)
		if s.devices[d.Name] == nil {
			s.devices[d.Name] = &device{ask: ask, from: "/dev/" + d.Name, answer: make(chan reading, 1)}
		}
	}
	for name, d := range s.devices { // unplugged
		if !slices.Contains(asked, name) && d.since.IsZero() {
			delete(s.devices, name)
		}
	}
	return asked, left
}

// text is a file of a disk, nil where it is not there.
func (s *source) text(disk string, path ...string) []byte {
	b, err := host.Read(s.host.Sys(append([]string{"block", disk}, path...)...), nil)
	if err != nil {
		return nil
	}
	return bytes.TrimSpace(b)
}

// askFor is how a disk is asked, nil where it is not. Opening a SCSI disk that the
// kernel has suspended would wake it; behind USB many an adapter fails a command that
// it does not know.
func (s *source) askFor(disk string) func(whole bool) reading {
	file := filepath.Join(s.host.Root, "/dev", strings.ReplaceAll(disk, "!", "/"))
	switch {
	case strings.HasPrefix(disk, "nvme"):
		ebs := isEBS(s.text(disk, "device", "model"))
		return func(whole bool) (r reading) {
			if whole {
				r = askNVMe(s.ask, file)
				r.whole = true
			}
			if ebs && r.err == nil {
				r.cloud, r.cloudErr = askEBS(s.ask, file)
			}
			return r
		}
	case strings.HasPrefix(disk, "sd") && string(s.text(disk, "device", "vendor")) == "ATA" && string(s.text(disk, "removable")) != "1":
		return func(bool) (r reading) {
			if bytes.HasPrefix(s.text(disk, "device", "power", "runtime_status"), []byte("suspend")) {
				return reading{asleep: true, whole: true}
			}
			r = askATA(s.ask, file)
			r.whole = true
			return r
		}
	}
	return nil
}

// virtio emits the write cache of a virtio disk: it can be switched where this file
// can be written (VIRTIO_BLK_F_CONFIG_WCE); else whether there is one is not known.
func (s *source) virtio(disk string, into sample.Sink) {
	state := string(s.text(disk, "cache_type"))
	info, err := os.Stat(s.host.Sys("block", disk, "cache_type"))
	if state == "" || err != nil || info.Mode().Perm()&0o200 == 0 {
		return
	}
	from := "/sys/block/" + disk + "/cache_type"
	into.Put(sample.DeviceCacheThere, sample.Entity{Device: disk}, 1, from)
	into.Put(sample.DeviceCacheOn, sample.Entity{Device: disk}, number(state == "write back"), from)
}

// take takes an answer that has come.
func (d *device) take(now time.Time) bool {
	select {
	case r := <-d.answer:
		if !r.whole { // the rest stays what it was
			old := d.last
			old.cloud, old.cloudErr = r.cloud, r.cloudErr
			r = old
		} else {
			d.at = now
		}
		d.last, d.known, d.fresh, d.since = r, true, true, time.Time{}
		return true
	default:
		return false
	}
}

// await waits for the answers, but not long.
func (s *source) await(asked []string) {
	end := time.Now().Add(wait)
	for _, name := range asked {
		d := s.devices[name]
		for !d.since.IsZero() && !d.take(s.host.Now()) && time.Now().Before(end) {
			time.Sleep(time.Millisecond)
		}
	}
}

func number(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// tell emits what a device answered last.
func (d *device) tell(name string, into sample.Sink) {
	if !d.known {
		return
	}
	r, e := &d.last, sample.Entity{Device: name}
	of := func(class string) sample.Entity { return sample.Entity{Device: name, Class: class} }
	from := "SMART of " + d.from
	if r.err == nil || r.warned {
		into.Put(sample.HealthAsleep, e, number(r.asleep), from)
	}
	if r.warned {
		into.Put(sample.HealthWarnings, e, float64(len(r.warnings)), from)
		for _, what := range r.warnings {
			into.Put(sample.HealthWarnings, of(what), 1, from)
		}
	}
	for what, n := range r.errors {
		into.Put(sample.HealthErrors, of(what), n, from)
	}
	for m, v := range map[sample.Metric]*float64{
		sample.HealthSpare: r.spare, sample.HealthUsed: r.used, sample.HealthCelsius: r.celsius, sample.HealthHot: r.hot, sample.HealthThrottled: r.throttled,
	} {
		if v != nil {
			into.Put(m, e, *v, from)
		}
	}
	for m, yes := range map[sample.Metric]*bool{sample.DeviceCacheThere: r.cacheThere, sample.DeviceCacheOn: r.cacheOn} {
		if yes != nil {
			into.Put(m, e, number(*yes), "identify of "+d.from)
		}
	}
	if r.cloud != nil && d.fresh {
		d.cloud(name, into)
	}
	d.fresh = false
}

// cloud emits by how much the counters of the cloud's storage rose.
func (d *device) cloud(name string, into sample.Sink) {
	c, from := d.last.cloud, fmt.Sprintf("log page %#x of %s", ebsPage, d.from)
	const microsecond = 1e-6
	step := func(m sample.Metric, class string, now uint64, unit float64) {
		if rise, how := d.counter.Step(counted{m, class}, now); how == host.Rose {
			into.Put(m, sample.Entity{Device: name, Class: class}, float64(rise)*unit, from)
		}
	}
	for i, what := range exceededBy() {
		step(sample.CloudExceeded, what, c.exceeded[i], microsecond)
	}
	for i, op := range []string{sample.ClassRead, sample.ClassWrite} {
		step(sample.CloudOps, op, c.ops[i], 1)
		step(sample.CloudTime, op, c.times[i], microsecond)
	}
	for _, b := range c.bins {
		step(sample.CloudBinOps, b.op+" "+strconv.FormatUint(b.least, 10)+"-"+strconv.FormatUint(b.most, 10), b.ops, 1)
	}
	into.Put(sample.CloudQueue, sample.Entity{Device: name}, float64(c.queue), from)
}

// gaps says who does not answer, who refused, and who was not asked.
func (s *source) gaps(asked []string, left int, into sample.Sink) {
	gap := func(metrics []sample.Metric, why string) {
		into.PutGap(sample.Gap{Source: "health", Why: why, Metrics: metrics})
	}
	for _, name := range asked {
		d := s.devices[name]
		switch {
		case !d.since.IsZero():
			gap(healthMetrics(), fmt.Sprintf("%s has not answered yet how healthy it is (asked %.1f s ago)", name, s.host.Now().Sub(d.since).Seconds()))
		case d.last.err != nil:
			gap(healthMetrics(), d.last.err.Error()+"; that needs CAP_SYS_ADMIN and CAP_SYS_RAWIO and the device's file")
		case d.last.cloudErr != nil:
			gap([]sample.Metric{sample.CloudExceeded}, d.last.cloudErr.Error())
		}
	}
	if left > 0 {
		gap(healthMetrics(), fmt.Sprintf("%d more disks were not asked how healthy they are: at most %d are", left, most))
	}
}

// Close implements sample.Source. A question without an answer ends by itself.
func (s *source) Close() error { return nil }
