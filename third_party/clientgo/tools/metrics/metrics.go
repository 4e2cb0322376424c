// Package metrics stands in for figures of a client of Kubernetes: see ../../../README.md.
package metrics

import (
	"context"
	"net/url"
	"time"
)

// LatencyMetric would be told how long requests took.
type LatencyMetric interface {
	Observe(ctx context.Context, verb string, u url.URL, latency time.Duration)
}

// ResultMetric would be told how they ended.
type ResultMetric interface {
	Increment(ctx context.Context, code, method, host string)
}

// RegisterOpts name both.
type RegisterOpts struct {
	RequestLatency LatencyMetric
	RequestResult  ResultMetric
}

// Register does nothing: there are no requests.
func Register(RegisterOpts) {}
