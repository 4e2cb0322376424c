package text

import (
	"testing"

	"iocause/internal/diagnose"
)

func TestWeightSaysWhatItIsAShareOf(t *testing.T) {
	for of, want := range map[string]string{
		diagnose.OfWaiting: "25 % of the waiting",
		diagnose.OfTime:    "25 % of its time",
		diagnose.InFlight:  "25 % of the time with I/O in flight",
		diagnose.OfRequest: "25 % of the requests",
		diagnose.OfLog:     "25 % of the reported trouble",
		"":                 "25 % of the waiting", // of a report that an older iocause wrote
	} {
		if got := weight(&diagnose.Finding{Weight: 0.25, WeightOf: of}); got != want {
			t.Errorf("%q: %q, want %q", of, got, want)
		}
	}
}
