//go:build !light

package series

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"
)

// stretch is what a tier is filled with: values that hardly compress.
type stretch struct {
	tier int
	step time.Duration
	n    int
}

// fillTier appends as the agent does, with its upkeep, and calls look after each.
func fillTier(t *testing.T, r *Recording, s stretch, look func()) {
	t.Helper()
	const series, batch = 150, 60
	var all []*Series
	for i := range series {
		all = append(all, New("test_depth", Label{"device", fmt.Sprint("d", i)}))
	}
	random := rand.New(rand.NewPCG(1, 2))
	for n := 0; n < s.n; n += batch {
		var frames []Frame
		for i := range batch {
			f := Frame{At: epoch().Add(time.Duration(n+i) * s.step)}
			for _, x := range all {
				f.Values = append(f.Values, Value{x, random.Float64()})
			}
			frames = append(frames, f)
		}
		if a, err := r.tiers[s.tier].append(frames); err != nil || a.Refused > 0 {
			t.Fatal(a, err)
		}
		check(t, r.tiers[s.tier].maintain(t.Context()))
		look()
	}
}

// No tier takes more than its share of the room, with its log, as soon as it has
// more than one block; the oldest go, and what goes so is told.
func TestNoMoreRoomThanAllowed(t *testing.T) {
	const most = 12 << 20
	dir := filepath.Join(mountSmall(t, "64m"), "rec")
	type lost struct {
		from, to time.Time
		sum      time.Duration
	}
	dropped := map[string]*lost{}
	o := options(dir)
	const day = 24 * time.Hour
	o.Keep, o.MaxBytes = [Tiers]time.Duration{400 * day, 400 * day, 400 * day}, most
	o.Dropped = func(tier string, from, to time.Time) {
		x := dropped[tier]
		if x == nil {
			x = &lost{from: from, to: from}
			dropped[tier] = x
		}
		if !to.After(from) || from.Before(x.to) {
			t.Errorf("%s: %v to %v is dropped after what was to %v", tier, from, to, x.to)
		}
		x.to, x.sum = to, x.sum+to.Sub(from)
	}
	r := open(t, o)
	// Each is far more than it may take. The disk is small, too: what the engine
	// takes beforehand to write a block has to fit.
	all := []stretch{{0, 10 * time.Second, 9_000}, {1, 5 * time.Minute, 4_200}, {2, time.Hour, 2_400}}
	for _, s := range all {
		name, share := TierNames()[s.tier], most/100*shares()[s.tier]
		fillTier(t, r, s, func() {
			blocks, err := blockDirs(filepath.Join(dir, name))
			if err != nil {
				t.Fatal(err)
			}
			if size := diskUse(filepath.Join(dir, name)); len(blocks) > 0 && size > share+slack {
				t.Fatalf("%s takes %d bytes with %d blocks, and may take %d", name, size, len(blocks), share)
			}
		})
	}
	if size := r.Bytes(); size > most {
		t.Errorf("all take %d bytes", size)
	}
	for _, s := range all {
		name, x := TierNames()[s.tier], dropped[TierNames()[s.tier]]
		oldest, newest := r.Oldest(s.tier), r.Newest(s.tier)
		switch length := time.Duration(s.n) * s.step; {
		case x == nil:
			t.Errorf("%s: nothing is said to be dropped", name)
		case !x.from.Equal(epoch()) || x.to.After(oldest) || oldest.Sub(x.to) > s.step || x.sum != x.to.Sub(x.from):
			t.Errorf("%s: %v to %v is said to be dropped, %v in all; it begins at %v", name, x.from, x.to, x.sum, oldest)
		case newest.Sub(epoch()) < length-s.step || oldest.Sub(epoch()) < length/3 || newest.Sub(oldest) < length/20:
			t.Errorf("%s has %v to %v of %v", name, oldest, newest, length)
		}
	}
	shut(t, r)
	// Less is allowed from now on: what is too much goes when it is opened.
	o.MaxBytes = most / 2
	before := dropped["raw"].sum
	r = open(t, o)
	defer shut(t, r)
	if size := diskUse(filepath.Join(dir, "raw")); size > o.MaxBytes/100*shares()[0]+slack || dropped["raw"].sum == before {
		t.Errorf("%d bytes after it was opened with less room; %v went", size, dropped["raw"].sum-before)
	}
}

// slack is what is beside the blocks and the log: folders and files that mark.
const slack = 4096

// What is older than it is kept goes without a word.
func TestOldBlocksAreNotWantOfRoom(t *testing.T) {
	o := options(filepath.Join(mountSmall(t, "64m"), "rec"))
	o.Keep[0], o.MaxBytes = 3*time.Hour, 64<<20
	o.Dropped = func(tier string, from, to time.Time) { t.Errorf("%s lost %v to %v", tier, from, to) }
	r := open(t, o)
	defer shut(t, r)
	fillTier(t, r, stretch{0, 10 * time.Second, 3_600}, func() {}) // 10 hours
	if kept := r.Newest(0).Sub(r.Oldest(0)); kept < 3*time.Hour || kept > 9*time.Hour {
		t.Errorf("%v are kept", kept)
	}
}
