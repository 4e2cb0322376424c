package load

import (
	"flag"
	"io"
	"reflect"
	"testing"
	"time"
)

func TestArgsGiveTheSameSpec(t *testing.T) {
	want := Spec{
		Kind: "randread", Path: "/x", Size: 1 << 30, BlockSize: 5000, Count: 7, Duration: time.Minute, Threads: 3, ThreadsFrom: 2,
		Ramp: time.Second, Rate: 1.5, Seed: 9, Order: Unaligned, Advice: "random", Run: 4, SyncEvery: 3, Think: time.Millisecond, Delay: time.Second,
		Burst: 6, Depth: 4, Direct: true, Writes: 7, Zipf: 0.9,
		Drop: true, Warm: true, Leave: 1 << 20, Comm: "n", OOMScoreAdj: 5, Nice: -3, Idle: true, To: "/y", Passes: 2,
	}
	args := want.Args()
	got := Spec{Kind: Kind(args[0])}
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	got.Bind(flags)
	if err := flags.Parse(args[1:]); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%v\n got %+v\nwant %+v", args, got, want)
	}
	if args := (&Spec{Kind: "spin"}).Args(); len(args) != 1 {
		t.Errorf("defaults are spelled out: %v", args)
	}
}

func TestPermuteIsOneToOne(t *testing.T) {
	for _, n := range []uint64{1, 2, 3, 7, 64, 65, 1000} {
		seen := map[uint64]bool{}
		for i := range n {
			p := permute(i, n, 42)
			if p >= n || seen[p] {
				t.Fatalf("%d of %d went to %d", i, n, p)
			}
			seen[p] = true
		}
	}
}

func TestEndless(t *testing.T) {
	for _, c := range []struct {
		spec Spec
		want bool
	}{
		{Spec{Kind: "randread", Path: "x"}, true},
		{Spec{Kind: "randread", Path: "x", Count: 7}, false},
		{Spec{Kind: "read", Path: "x"}, false},
		{Spec{Kind: "read", Path: "x", Order: Random}, true},
	} {
		if got := c.spec.Endless(); got != c.want {
			t.Errorf("%+v: %v", c.spec.Args(), got)
		}
	}
}
