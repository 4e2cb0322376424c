package fleet

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"iocause/internal/fleet/fleettest"
)

// In real stores, with the classic histograms that they have of hosts of which one
// has slow reads: that host comes first, and the rare slow requests are a row of the
// heat map.
func TestLatencyOfManyHosts(t *testing.T) {
	for name, in := range latencyEngines() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			to := hour()
			a := askOf(in(t, nil, to), to)
			l, err := ObserveLatency(t.Context(), a)
			if err != nil {
				t.Fatal(err)
			}
			if l.Native || len(l.Hosts) != 10 || l.Hosts[0].Host != "host-3" || l.Hosts[0].Op != "reads" {
				t.Fatalf("%+v", l.Hosts)
			}
			if h := l.Hosts[0]; h.P50 > 1./1024 || h.P99 < 1./8 || h.P99 > 1./4 || math.Abs(h.Rate-10) > 0.5 {
				t.Errorf("%+v", h)
			}
			reads := l.Kinds[0]
			if got := slices.Max(reads.Rate[0.25]); math.Abs(got-1) > 0.05 || sumOf(reads.Rate[1./1024]) < 50*sumOf(reads.Rate[0.25]) {
				t.Errorf("slow reads %g a second: %v", got, reads.Rate)
			}
			text := fmt.Sprint(l.Tables()[0].Rows)
			if !strings.Contains(text, "█") || !strings.Contains(text, "250 ms") {
				t.Error(text)
			}
			a.Match = `instance="none"`
			if _, err := ObserveLatency(t.Context(), a); err == nil || !strings.Contains(err.Error(), "it has no iocause_disk_read_latency_seconds") {
				t.Error(err)
			}
		})
	}
}

// latencyEngines are the stores, with ten hosts' reads: ten a second, of which one a
// second is slow on one host.
func latencyEngines() map[string]func(*testing.T, *fleettest.Fleet, time.Time) string {
	out := map[string]func(*testing.T, *fleettest.Fleet, time.Time) string{}
	for name, in := range engines() {
		out[name] = func(t *testing.T, _ *fleettest.Fleet, to time.Time) string {
			f := &fleettest.Fleet{}
			for i := range 10 {
				f.Hosts = append(f.Hosts, fleettest.Host{Name: fmt.Sprint("host-", i), Cause: "latencies"})
			}
			return in(t, f, to)
		}
	}
	return out
}

// histograms writes what a host's disk does in an hour as classic histograms.
func histograms(host string, from time.Time, put func(series string, value float64, at time.Time)) {
	for s := 0; s <= 3600; s += 60 {
		at, n := from.Add(time.Duration(s)*time.Second), float64(10*s)
		fast := n
		if host == "host-3" {
			fast = 0.9 * n
		}
		for e := -12; e <= 1; e++ {
			v, bound := n, fmt.Sprint(math.Ldexp(1, e))
			switch {
			case e < -10:
				v = 0
			case e < -2:
				v = fast
			case e == 1:
				bound = "+Inf"
			}
			put(fmt.Sprintf(`iocause_disk_read_latency_seconds_bucket{instance=%q,device="vda",le=%q}`, host, bound), v, at)
		}
		put(fmt.Sprintf(`iocause_disk_read_latency_seconds_count{instance=%q,device="vda"}`, host), n, at)
		put(fmt.Sprintf(`iocause_disk_read_latency_seconds_sum{instance=%q,device="vda"}`, host), n/1000, at)
	}
}

// Native histograms are read as the API of Prometheus writes them
// (https://prometheus.io/docs/prometheus/latest/querying/api/#native-histograms).
func TestNativeHistograms(t *testing.T) {
	var a answer
	err := json.Unmarshal([]byte(`{"status":"success","data":{"resultType":"matrix","result":[{"metric":{},"histograms":[
		[1790000000.5,{"count":"4","sum":"1.5","buckets":[[3,"-0.001","0.001","1"],[0,"0.5","1","3"]]}],[1790000060.5,{"count":"0","sum":"0"}]]}]}}`), &a)
	if err != nil {
		t.Fatal(err)
	}
	from := time.UnixMilli(1790000000500)
	s := &Spread{}
	classic := func(bound, v string) line {
		return line{Metric: map[string]string{"le": bound}, Values: []point{{from, map[string]float64{"1": 1, "3": 3}[v]}}}
	}
	s.fill(from, from.Add(time.Minute), time.Minute, a.Data.Result, []line{classic("0.001", "1"), classic("1", "3"), classic("+Inf", "3")})
	if got := fmt.Sprint(s.Rate); got != "map[0.001:[2 0] 1:[5 0]]" {
		t.Error(got)
	}
	if err := json.Unmarshal([]byte(`[1790000000.5,{"buckets":[[0,"x","y","z"]]}]`), &distribution{}); err == nil {
		t.Error("a bucket without bounds passes")
	}
}
