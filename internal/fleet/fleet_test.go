package fleet_test

import (
	"math"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"iocause/internal/fleet"
	"iocause/internal/fleet/fleettest"
)

// Tables whose chance is known: the lady who tastes tea (Fisher 1935), and one
// that was worked out in whole numbers.
func TestExact(t *testing.T) {
	for _, c := range []struct {
		counts fleet.Counts
		want   float64
	}{
		{fleet.Counts{With: 4, WithAll: 4, Affected: 4, Hosts: 8}, 1.0 / 70},
		{fleet.Counts{With: 3, WithAll: 4, Affected: 4, Hosts: 8}, 17.0 / 70},
		{fleet.Counts{With: 0, WithAll: 4, Affected: 4, Hosts: 8}, 1},
		{fleet.Counts{With: 10, WithAll: 12, Affected: 12, Hosts: 30}, 0.000119257896},
	} {
		if got := fleet.Exact(c.counts); math.Abs(got-c.want) > 1e-5*c.want {
			t.Errorf("%+v: %g, want %g", c.counts, got, c.want)
		}
	}
	if got := fleet.Exact(fleet.Counts{With: 900, WithAll: 1000, Affected: 1000, Hosts: 10000}); got > 1e-300 || math.IsNaN(got) {
		t.Errorf("ten thousand hosts: %g", got)
	}
}

// The example of Benjamini and Hochberg's paper: of fifteen chances the first
// four are found at 0.05.
func TestFalseDiscovery(t *testing.T) {
	chances := []float64{0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1}
	found := 0
	for i, rate := range fleet.FalseDiscovery(chances) {
		if rate <= 0.05 {
			found++
		}
		if rate < chances[i] {
			t.Errorf("rate %g of chance %g", rate, chances[i])
		}
	}
	if found != 4 {
		t.Errorf("%d are found, want 4", found)
	}
}

// Within strata nothing is left of what only goes along (Simpson's paradox), and
// what does make a difference stays.
func TestStratified(t *testing.T) {
	along := []fleet.Counts{{With: 45, WithAll: 90, Affected: 50, Hosts: 100}, {With: 1, WithAll: 10, Affected: 9, Hosts: 100}}
	if p := fleet.Stratified(along); p < 0.2 {
		t.Errorf("what goes along has a chance of %g", p)
	}
	own := []fleet.Counts{{With: 40, WithAll: 50, Affected: 50, Hosts: 100}, {With: 8, WithAll: 10, Affected: 9, Hosts: 100}}
	if p := fleet.Stratified(own); p > 1e-6 {
		t.Errorf("what stands for itself has a chance of %g", p)
	}
	if p := fleet.Stratified(nil); p != 1 {
		t.Errorf("nothing has a chance of %g", p)
	}
}

func hostsOf(f *fleettest.Fleet) []fleet.Host {
	var out []fleet.Host
	for _, h := range f.Hosts {
		if h.Cause == f.Cause || h.Cause == "healthy" {
			out = append(out, fleet.Host{Affected: h.Cause == f.Cause, Facts: h.Facts})
		}
	}
	return out
}

// many is how many hosts a fleet has, and in how many fleets disks are looked for:
// IOCAUSE_FLEET_HOSTS=10000 go test ./internal/fleet -run 'Planted|Chance|Slow' -v
func many(t *testing.T) (hosts, fleets int) {
	said := os.Getenv("IOCAUSE_FLEET_HOSTS")
	if said == "" {
		return 1000, 10
	}
	n, err := strconv.Atoi(said)
	if err != nil {
		t.Fatal(err)
	}
	return n, 50
}

// Of fleets with one or two planted facts among forty settings, many of which
// come together, those are named, and hardly anything else.
func TestPlantedFactsAreFound(t *testing.T) {
	const seeds = 50
	right, named, planted := 0, 0, 0
	hosts, _ := many(t)
	for seed := range uint64(seeds) {
		f := fleettest.New(seed, fleettest.Options{Hosts: hosts, Planted: 1 + int(seed%2)})
		factors, tested := fleet.Common(hostsOf(f))
		if tested < 40 {
			t.Fatalf("only %d facts were tested", tested)
		}
		planted += len(f.Planted)
		for _, x := range factors {
			if x.Beside >= 0 {
				continue
			}
			named++
			if slices.ContainsFunc(x.Facts, func(fact fleet.Fact) bool { return slices.Contains(f.Planted, fact) }) {
				right++
			} else {
				t.Logf("seed %d: %v is named, planted were %v", seed, x.Facts, f.Planted)
			}
		}
	}
	precision, recall := float64(right)/float64(named), float64(right)/float64(planted)
	t.Logf("%d fleets: precision %.3f, recall %.3f (%d named, %d planted)", seeds, precision, recall, named, planted)
	if precision < 0.95 || recall < 0.95 {
		t.Errorf("precision %.3f, recall %.3f", precision, recall)
	}
}

// Where nothing is planted, nothing is named.
func TestChanceIsNoFactor(t *testing.T) {
	named := 0
	hosts, _ := many(t)
	for seed := range uint64(50) {
		f := fleettest.New(seed, fleettest.Options{Hosts: hosts})
		factors, _ := fleet.Common(hostsOf(f))
		named += len(factors)
	}
	t.Logf("50 fleets where nothing is planted: %d factors are named", named)
	if named > 2 { // one fleet in a hundred may have one
		t.Errorf("%d factors are named in 50 fleets where there is none", named)
	}
}

func TestCommonOfNothing(t *testing.T) {
	for name, hosts := range map[string][]fleet.Host{
		"none": nil, "all affected": {{Affected: true}, {Affected: true}}, "none affected": {{}, {}},
	} {
		if f, n := fleet.Common(hosts); len(f) != 0 || n != 0 {
			t.Errorf("%s: %v of %d", name, f, n)
		}
	}
}

// slowOf is what is found of a fleet: right ones, wrong ones.
func slowOf(f *fleettest.Fleet) (right, wrong, compared int) {
	byModel := map[string][]*fleettest.Disk{}
	for i := range f.Hosts {
		for d := range f.Hosts[i].Disks {
			x := &f.Hosts[i].Disks[d]
			byModel[x.Model] = append(byModel[x.Model], x)
		}
	}
	for _, disks := range byModel {
		var loads []fleet.Load
		for i, d := range disks {
			for _, l := range d.Loads {
				l.Disk = i
				loads = append(loads, l)
			}
		}
		slow, n := fleet.SlowDisks(loads, len(disks))
		compared += n
		for _, s := range slow {
			if disks[s.Disk].Slower > 1 {
				right++
			} else {
				wrong++
			}
		}
	}
	return right, wrong, compared
}

// Twenty slow disks among all, at all loads that disks have: found, with one
// that is not at most.
func TestSlowDisksAreFound(t *testing.T) {
	right, wrong, planted := 0, 0, 0
	hosts, fleets := many(t)
	for seed := range uint64(fleets) {
		f := fleettest.New(seed, fleettest.Options{Hosts: hosts, SlowDisks: 20, Intervals: 12})
		r, w, compared := slowOf(f)
		right, wrong, planted = right+r, wrong+w, planted+f.Slow
		if compared < hosts*14/10 {
			t.Errorf("seed %d: only %d disks of %d hosts can be compared", seed, compared, hosts)
		}
		if r < 19 || w > 1 {
			t.Errorf("seed %d: %d of 20 found, %d wrong", seed, r, w)
		}
	}
	t.Logf("%d of %d found, %d wrong", right, planted, wrong)
	if f := fleettest.New(1, fleettest.Options{Hosts: 1000, Intervals: 12}); true {
		if _, wrong, _ := slowOf(f); wrong > 0 {
			t.Errorf("%d slow disks where there is none", wrong)
		}
	}
}

// A disk that is asked for more is not slow: its latency is compared at equal
// depth.
func TestBusyIsNotSlow(t *testing.T) {
	var loads []fleet.Load
	const disks = 40
	for d := range disks {
		for i := range 6 {
			depth := 1.0 + float64(i)
			if d == 0 {
				depth *= 16
			}
			loads = append(loads, fleet.Load{Disk: d, Ops: 100, Depth: depth, Bytes: 409600, Reads: 1})
		}
	}
	if slow, _ := fleet.SlowDisks(loads, disks); len(slow) != 0 {
		t.Errorf("%+v", slow)
	}
}

// What is worked out for ten thousand hosts takes its time in proportion.
func TestGrowth(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a second")
	}
	took := map[int]time.Duration{}
	for _, n := range []int{500, 5000} {
		f := fleettest.New(3, fleettest.Options{Hosts: n, Planted: 1, SlowDisks: 5, Intervals: 6})
		hosts := hostsOf(f)
		began := time.Now()
		fleet.Common(hosts)
		slowOf(f)
		took[n] = time.Since(began)
	}
	t.Logf("%v", took)
	if took[5000] > 40*took[500]+50*time.Millisecond {
		t.Errorf("ten times the hosts take %v instead of %v", took[5000], took[500])
	}
}
