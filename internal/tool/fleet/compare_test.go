package fleet

import (
	"math"
	"slices"
	"strings"
	"testing"

	"iocause/internal/detect"
	"iocause/internal/fleet"
	"iocause/internal/fleet/fleettest"
)

// Two groups that a planted setting parts: it is found, and so is the cause that
// more of one side have; two hosts of which one has a slower disk differ in that.
func TestSidesAreCompared(t *testing.T) {
	f := fleettest.New(7, fleettest.Options{Hosts: 200, Intervals: intervals})
	slow, well := &f.Hosts[10], &f.Hosts[11]
	for i := range f.Hosts[:100] {
		f.Hosts[i].Facts = append(f.Hosts[i].Facts, fleet.Fact{Setting: "rack", Value: "left"})
	}
	for i := range f.Hosts[100:] {
		f.Hosts[100+i].Facts = append(f.Hosts[100+i].Facts, fleet.Fact{Setting: "rack", Value: "right"})
		f.Hosts[100+i].Cause = "healthy"
	}
	well.Disks, slow.Disks = slices.Clone(well.Disks[:1]), slices.Clone(well.Disks[:1])
	slow.Disks[0].Loads = slices.Clone(slow.Disks[0].Loads)
	for i := range slow.Disks[0].Loads {
		slow.Disks[0].Loads[i].Depth *= 10 // of as many requests: each takes ten times as long
	}
	mapped := well.Disks[0] // LVM on the same disk does the same once more
	mapped.Device = "dm-0"
	well.Disks = append(well.Disks, mapped)
	sick := 0
	for _, h := range f.Hosts[:100] {
		if h.Cause != "healthy" {
			sick++
		}
	}
	for name, in := range engines() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			to := hour()
			a := askOf(in(t, f, to), to)
			c, err := Compare(t.Context(), a, [2]string{slow.Name, well.Name})
			if err != nil {
				t.Fatal(err)
			}
			at := slices.IndexFunc(c.Figures, func(f Figure) bool { return f.Key == "read_latency" })
			if at < 0 || !c.Figures[at].Compared.Clear || math.Abs(c.Figures[at].Sides[0]/c.Figures[at].Sides[1]-10) > 0.1 {
				t.Errorf("figures %+v", c.Figures)
			}
			if at := slices.IndexFunc(c.Figures, func(f Figure) bool { return f.Key == "reads" }); at < 0 || c.Figures[at].Compared.Clear || math.Abs(c.Figures[at].Sides[0]/c.Figures[at].Sides[1]-1) > 0.1 {
				t.Errorf("the reads, which are as many, differ: %+v", c.Figures)
			}
			if c.Why == "" || len(c.Settings) == 0 || len(c.Facts) != 0 {
				t.Errorf("it is not said that nothing is tested with one host on each side: %+v", c)
			}
			for _, s := range c.Settings {
				if s.Values[0] == s.Values[1] {
					t.Errorf("%v does not differ", s)
				}
			}
			// Groups: the hosts' names part them, as a label would.
			c, err = Compare(t.Context(), a, [2]string{`instance=~"host-000.*"`, `instance=~"host-001.*"`})
			if err != nil {
				t.Fatal(err)
			}
			if len(c.Sides[0].Hosts) != 100 || len(c.Sides[1].Hosts) != 100 {
				t.Fatalf("%d and %d hosts", len(c.Sides[0].Hosts), len(c.Sides[1].Hosts))
			}
			if sides := len(c.Sides[0].Hosts) - len(c.Sides[0].With("healthy")); sides != sick || len(c.Sides[1].With("healthy")) != 100 {
				t.Errorf("%d of the left have a cause, want %d", sides, sick)
			}
			if len(c.Facts) != 2 || c.Facts[0].Facts[0].Setting != "rack" || c.Facts[0].With != [2]int{100, 0} || c.Facts[1].With != [2]int{0, 100} {
				t.Errorf("facts that part the sides: %+v", c.Facts)
			}
			for _, bad := range [][2]string{{"host-00010", `instance=~".+"`}, {"no-such", "host-00010"}} {
				if _, err := Compare(t.Context(), a, bad); err == nil || !strings.Contains(err.Error(), "host") {
					t.Errorf("%v: %v", bad, err)
				}
			}
			all, err := Everything(t.Context(), a)
			if err != nil || all.Disks == nil || len(all.Notes) != 0 || len(all.Fleet.Hosts) != 200 {
				t.Errorf("%+v %v", all, err)
			}
		})
	}
}

// What one side alone told is no figure, and what hardly differs does not stand out.
func TestFiguresOfOneSide(t *testing.T) {
	c := &Comparison{}
	m := measured{key: "reads", unit: "count/s"}
	c.figure(m, map[string][]float64{"a": {1, 2, 3, 4}}, nil)
	c.figure(m, map[string][]float64{"a": {1, 2, 1, 2}}, map[string][]float64{"b": {3, 4, 3, 4}})
	if len(c.Figures) != 1 || c.Figures[0].Compared.Clear || c.Figures[0].Compared.Superiority != 1 {
		t.Errorf("%+v", c.Figures)
	}
	if got := valuesOf(map[string][]float64{"a": {1, 2, 30}, "b": {4}, "c": {5}, "d": {6}}); !slices.Equal(got, []float64{2, 4, 5, 6}) || len(got) < detect.LeastValues {
		t.Errorf("%v", got)
	}
}
