package bpf

import (
	"testing"

	"github.com/cilium/ebpf/link"
)

// Of two programs in a row an event is lost that the kernel passed over both for.
func TestLostOfTwo(t *testing.T) {
	p := &Probe{
		hooks: map[string]*Program{
			"ended": {}, "ended_layers": {}, "missed": {After: "ended"},
			"begun": {Spare: true}, "begun_again": {}, "alone": {},
		},
		links: map[string]link.Link{"ended_layers": nil, "begun": nil, "begun_again": nil, "alone": nil},
	}
	missed := map[string]uint64{"ended": 3, "ended_layers": 4, "missed": 5, "begun": 6, "begun_again": 2, "alone": 8}
	want := func(want map[string]uint64) {
		t.Helper()
		for name, n := range want {
			if got := p.lost(name, missed); got != n {
				t.Errorf("%d events are lost with %s, want %d", got, name, n)
			}
		}
	}
	want(map[string]uint64{"ended": 3, "ended_layers": 4, "begun": 0, "begun_again": 2, "alone": 8})
	p.links["missed"] = nil // it comes after both
	want(map[string]uint64{"ended": 0, "ended_layers": 0, "missed": 5})
	missed["missed"] = 50 // most of them while nothing else was passed over
	want(map[string]uint64{"missed": 7})
}
