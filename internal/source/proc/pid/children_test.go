package pid

import (
	"testing"

	"iocause/internal/host"
	"iocause/internal/source/proc/proctest"
)

func TestChildrenThatEnd(t *testing.T) { proctest.ChildrenThatEnd(t, Open, host.Live()) }

// A parent that ignores SIGCHLD takes nothing over.
func TestChildrenThatNobodyWaitsFor(t *testing.T) {
	before, child := IO{ReadBytes: 100, ReadCalls: 2}, IO{ReadBytes: 1000, WriteBytes: 5}
	if got := before.plus(child, &IO{ReadBytes: 1200, ReadCalls: 2}); got != before {
		t.Errorf("not taken over, as no byte was written: %+v", got)
	}
	if got := before.plus(child, &IO{ReadBytes: 1200, ReadCalls: 2, WriteBytes: 5}); got != (IO{ReadBytes: 1100, ReadCalls: 2, WriteBytes: 5}) {
		t.Errorf("taken over: %+v", got)
	}
}
