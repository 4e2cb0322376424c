package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"iocause/internal/figure"
	"iocause/internal/sample"
)

// encrypts is the share of an I/O's time that must pass in dm-crypt itself for the
// encryption to be what it waits for.
const encrypts = 0.50

// encryptionCPU: I/O waits for dm-crypt's work more than for the disk below it.
func encryptionCPU() Cause {
	return Cause{
		ID: EncryptionCPU, Title: "encryption (dm-crypt) takes longer than the disk below it",
		Needs: [][]sample.Metric{{sample.DeviceKind}, {sample.LayerOwnTime}},
		Over:  append(deviceCauses(), ColdCache, CacheBusting, DirectIO, SyncWrites, DirtyThrottling, WritebackInterference),
		Judge: func(c *Case) Verdict {
			if c.w.Told {
				return c.toldEncryption()
			}
			if v := c.outOfDevice(); v != nil {
				return *v
			}
			if !c.w.Has(sample.DeviceKind) {
				return cannotTell(c.w.WhyAbsent(sample.DeviceKind))
			}
			own, whole, crypt := 0.0, 0.0, figure.Layer{}
			for _, s := range figure.Stacks(c.w) {
				if !slices.ContainsFunc(s, func(l figure.Layer) bool { return l.Device == c.device }) {
					continue
				}
				for i := range s {
					if l := &s[i]; strings.Contains(l.Kind, "dm-crypt") {
						own, whole = own+l.Own, whole+s[0].Seconds
						if crypt.Device == "" || l.Own > crypt.Own {
							crypt = *l
						}
					}
				}
			}
			switch {
			case crypt.Device == "":
				return no(c.device + " has no dm-crypt above it")
			case !crypt.Counted:
				return cannotTell(c.w.WhyAbsent(sample.LayerOwnTime))
			case whole == 0 || own < encrypts*whole:
				return no(fmt.Sprintf("%s of the time of I/O through %s is dm-crypt's own", percent(own/max(whole, 1e-9)), crypt.Device))
			}
			seconds := c.w.Seconds()
			cpu := c.cryptCPU()
			e := []Evidence{
				c.figure("of the time of an I/O, in dm-crypt itself", own/whole, "ratio", sample.LayerOwnTime),
				c.figure("dm-crypt's time for each I/O", crypt.Own/max(crypt.Count, 1), "seconds", sample.LayerOwnTime),
				c.figure("processors that its threads use", cpu/seconds, "count", sample.ProcSystem),
			}
			if c.w.Has(sample.LayerBytes) {
				e = append(e, c.figure("bytes through dm-crypt", crypt.Bytes/seconds, "bytes/s", sample.LayerBytes))
			}
			if n, ok := c.gauge(sample.CPUCount); ok {
				if busy, ok := c.busyProcessors(); ok {
					e = append(e, c.figure("of all processors, busy", clamp01(busy/n), "ratio", sample.CPUSystem))
				}
			}
			k := c.culprit()
			k.Device = crypt.Device
			name := strings.TrimSpace(crypt.Label)
			return Verdict{
				Answer: Yes, Confidence: 0.85, Weight: c.blockedWeight() * own / whole, Culprit: k, Evidence: e,
				Disprove: "I/O to the disk below takes as long without dm-crypt",
				Advice: []Advice{Advice{
					Do:     "let dm-crypt work in the thread that reads or writes instead of handing each request to its own (no_read_workqueue, no_write_workqueue), and see that the processor's AES instructions are used",
					Expect: "the time in dm-crypt falls to that of the encryption alone",
				}.with(fmt.Sprintf("cryptsetup refresh --perf-no_read_workqueue --perf-no_write_workqueue %s; cryptsetup benchmark", name), name)},
			}
		},
	}
}

// cryptCPU is the processor time, in seconds, of the threads that dm-crypt works in.
func (c *Case) cryptCPU() float64 {
	t, _ := c.w.SumWhere(sample.ProcSystem, func(e sample.Entity) bool {
		p := c.w.Processes[e.PID]
		return p.Kernel && (strings.Contains(p.Comm, "kcryptd") || strings.HasPrefix(p.Comm, "dmcrypt_write"))
	})
	return t
}
