// Package fiojson reads the JSON that fio prints with --output-format=json
// (fio's HOWTO, "JSON output"). Times are in seconds here, nanoseconds there.
package fiojson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// Latency is one kind of latency. Quantile holds what fio computed, by share
// (0.99), and is empty when it computed none.
type Latency struct {
	N              uint64
	Mean, Min, Max float64
	Quantile       map[float64]float64
}

// Side is what a job did in one direction.
type Side struct {
	Direction   string // "read", "write" or "trim"
	Requests    uint64
	Bytes       uint64
	Seconds     float64
	PerSecond   float64 // requests
	BytesPerSec float64
	// Submit is from the call to the handing over, Complete from there to the
	// end; of synchronous engines Submit is empty. Total is both.
	Submit, Complete, Total Latency
}

// Job is one job, or a group of them when fio was told to report groups.
type Job struct {
	Name  string
	Error int        // errno of what ended it, 0
	CPU   [2]float64 // shares of one CPU: user, system
	Sides []Side     // those with requests
}

// Output is one run of fio.
type Output struct {
	Version string
	Jobs    []Job
}

// maxOutput is more than fio prints of a thousand jobs.
const maxOutput = 256 << 20

// Parse reads fio's output. fio writes warnings in front of the document.
func Parse(r io.Reader) (*Output, error) {
	b, err := io.ReadAll(io.LimitReader(r, maxOutput))
	if err != nil {
		return nil, fmt.Errorf("read fio's output: %w", err)
	}
	at := bytes.IndexByte(b, '{')
	if at < 0 {
		return nil, errors.New("fio's output holds no JSON")
	}
	var raw struct {
		Version string `json:"fio version"`
		Jobs    []struct {
			Name  string  `json:"jobname"`
			Error int     `json:"error"`
			User  float64 `json:"usr_cpu"`
			Sys   float64 `json:"sys_cpu"`
			Read  side    `json:"read"`
			Write side    `json:"write"`
			Trim  side    `json:"trim"`
		} `json:"jobs"`
	}
	if err := json.NewDecoder(bytes.NewReader(b[at:])).Decode(&raw); err != nil {
		return nil, fmt.Errorf("read fio's JSON: %w", err)
	}
	if raw.Version == "" {
		return nil, errors.New("read fio's JSON: it has no \"fio version\"")
	}
	out := &Output{Version: raw.Version}
	for i := range raw.Jobs {
		r := &raw.Jobs[i]
		j := Job{Name: r.Name, Error: r.Error, CPU: [2]float64{r.User / 100, r.Sys / 100}}
		for _, d := range []struct {
			name string
			side *side
		}{{"read", &r.Read}, {"write", &r.Write}, {"trim", &r.Trim}} {
			if d.side.Requests > 0 {
				j.Sides = append(j.Sides, d.side.clean(d.name))
			}
		}
		out.Jobs = append(out.Jobs, j)
	}
	return out, nil
}

type side struct {
	Bytes    uint64  `json:"io_bytes"`
	Rate     float64 `json:"bw_bytes"`
	IOPS     float64 `json:"iops"`
	Runtime  float64 `json:"runtime"` // milliseconds
	Requests uint64  `json:"total_ios"`
	Slat     latency `json:"slat_ns"`
	Clat     latency `json:"clat_ns"`
	Lat      latency `json:"lat_ns"`
}

func (s *side) clean(direction string) Side {
	return Side{
		Direction: direction, Requests: s.Requests, Bytes: s.Bytes, Seconds: s.Runtime / 1e3, PerSecond: s.IOPS, BytesPerSec: s.Rate,
		Submit: s.Slat.clean(), Complete: s.Clat.clean(), Total: s.Lat.clean(),
	}
}

type latency struct {
	Min, Max, Mean float64
	N              uint64
	Percentile     map[string]float64
}

func (l *latency) clean() Latency {
	out := Latency{N: l.N, Mean: l.Mean / 1e9, Min: l.Min / 1e9, Max: l.Max / 1e9, Quantile: map[float64]float64{}}
	for name, v := range l.Percentile {
		if p, err := strconv.ParseFloat(name, 64); err == nil && p >= 0 && p <= 100 {
			out.Quantile[p/100] = v / 1e9
		}
	}
	return out
}

// At is a quantile that fio computed.
func (l *Latency) At(q float64) (seconds float64, ok bool) {
	for at, v := range l.Quantile {
		if at > q-1e-9 && at < q+1e-9 {
			return v, true
		}
	}
	return 0, false
}
