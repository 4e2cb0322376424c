package host

import (
	"maps"
	"testing"
)

func TestInherited(t *testing.T) {
	ended := map[int]Ended{
		10: {5, IO{ReadBytes: 1}}, 11: {10, IO{ReadBytes: 20, WriteCalls: 3}}, 12: {11, IO{ReadBytes: 300}},
		20: {0, IO{ReadBytes: 4}}, 30: {31, IO{ReadBytes: 5}}, 31: {30, IO{}}, 40: {6, IO{WriteBytes: 7}},
	}
	want := map[int]IO{5: {ReadBytes: 321, WriteCalls: 3}, 0: {ReadBytes: 9}, 6: {WriteBytes: 7}}
	if got := Inherited(ended); !maps.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// A parent that ignores SIGCHLD takes nothing over.
func TestChildrenThatNobodyWaitsFor(t *testing.T) {
	before, child := IO{ReadBytes: 100, ReadCalls: 2}, IO{ReadBytes: 1000, WriteBytes: 5}
	if got := before.With(child, IO{ReadBytes: 1200, ReadCalls: 2}); got != before {
		t.Errorf("not taken over, as no byte was written: %+v", got)
	}
	if got := before.With(child, IO{ReadBytes: 1200, ReadCalls: 2, WriteBytes: 5}); got != (IO{ReadBytes: 1100, ReadCalls: 2, WriteBytes: 5}) {
		t.Errorf("taken over: %+v", got)
	}
}
