package lines

import "iocause/internal/sample"

// Processors puts what the processors did in so many seconds, from the shares of
// their time in per cent that sysstat's tools print: percent has them by the
// names of the columns without the %, and 0 for those that are not printed. cpus
// is 0 where the text does not say how many there are; then it is taken for one.
func Processors(into Values, cpus, seconds float64, percent func(name string) float64) {
	if cpus > 0 {
		into.Put(sample.CPUCount, sample.Entity{}, cpus)
	} else {
		cpus = 1
	}
	share := func(m sample.Metric, names ...string) {
		t := 0.0
		for _, name := range names {
			t += percent(name)
		}
		into.Put(m, sample.Entity{}, t/100*cpus*seconds)
	}
	// sar -u ALL and mpstat part more finely, and spell two of them shorter.
	share(sample.CPUUser, "user", "usr", "nice", "guest", "gnice")
	share(sample.CPUSystem, "system", "sys", "irq", "soft")
	share(sample.CPUIOWait, "iowait")
	share(sample.CPUSteal, "steal")
	share(sample.CPUIdle, "idle")
}
