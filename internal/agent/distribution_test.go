package agent

import (
	"strings"
	"testing"
	"time"

	"iocause/internal/sample"
	"iocause/internal/store/series"
)

// What windows count becomes a histogram of Prometheus that only rises, in order of
// its bounds; what is below the lowest bound or above the highest is not lost.
func TestDistributionsAreTold(t *testing.T) {
	f := &feed{entry: latencyEntry(), infos: infos(), spread: map[of]*distribution{}}
	now := time.Unix(1_790_000_000, 0)
	window := func(slots ...int) *sample.Window {
		r := sample.NewRecorder(now)
		h := sample.Histogram{Sum: 0.5}
		for _, s := range slots {
			h.Counts[s]++
		}
		r.PutHistogram(sample.DiskReadLatency, sample.Entity{Device: "vda"}, h, "test")
		return r.Window(now.Add(time.Second))
	}
	f.distributions(window(0, 20, 47), now)
	got := shown(t, f.distributions(window(20, 12), now)) // 2^-30 s: 2^20 to 2^21 is up to 1/512 s
	for _, want := range []string{
		`iocause_disk_read_latency_seconds_bucket{device="vda",le="7.62939453125e-06"} 2`,
		`iocause_disk_read_latency_seconds_bucket{device="vda",le="0.0009765625"} 2`,
		`iocause_disk_read_latency_seconds_bucket{device="vda",le="0.001953125"} 4`,
		`iocause_disk_read_latency_seconds_bucket{device="vda",le="8"} 4`,
		`iocause_disk_read_latency_seconds_bucket{device="vda",le="+Inf"} 5`,
		`iocause_disk_read_latency_seconds_count{device="vda"} 5`, `iocause_disk_read_latency_seconds_sum{device="vda"} 1`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is missing in\n%s", want, got)
		}
	}
	if at := []int{strings.Index(got, `le="0.5"`), strings.Index(got, `le="4"`), strings.Index(got, `le="+Inf"`)}; at[0] > at[1] || at[1] > at[2] {
		t.Errorf("bounds out of order: %v", at)
	}
	if d := describe()["iocause_disk_read_latency_seconds_bucket"]; d.kind != "histogram" || d.help == "" {
		t.Errorf("%+v", d)
	}
	ended := 0
	f.spread[of{sample.DiskReadLatency, sample.Entity{Device: "vda"}}].each(func(*series.Series) { ended++ })
	if len(f.distributions(sample.NewWindow(now, time.Second), now)) != ended {
		t.Error("an idle disk's histogram is not told")
	}
}
