// Package workqueue stands in for figures of queues: see ../../../README.md.
package workqueue

// What the figures of a queue would be kept in.
type (
	GaugeMetric interface {
		Inc()
		Dec()
	}
	SettableGaugeMetric interface{ Set(float64) }
	CounterMetric       interface{ Inc() }
	HistogramMetric     interface{ Observe(float64) }
)

// SetProvider does nothing: there are no queues.
func SetProvider(any) {}
