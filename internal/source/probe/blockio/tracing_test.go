package blockio

import (
	"os"
	"path/filepath"
	"testing"

	"iocause/internal/require"
)

// trace is the kernel's own one of events of the block layer, each with its filter.
type trace struct {
	t      *testing.T
	events map[string]string
}

func tracing(t *testing.T, events map[string]string) trace {
	t.Helper()
	tr := trace{t, events}
	tr.write("trace", "")
	for event, filter := range events {
		tr.write("events/block/"+event+"/filter", filter)
		tr.write("events/block/"+event+"/enable", "1")
	}
	return tr
}

// begin forgets what there was before.
func (tr trace) begin() { tr.write("trace", "") }

// end ends it and returns all since it was begun.
func (tr trace) end() string {
	tr.t.Helper()
	for event := range tr.events {
		tr.write("events/block/"+event+"/enable", "0")
		tr.write("events/block/"+event+"/filter", "0")
	}
	text, err := os.ReadFile(tracefs("trace"))
	require.NoError(tr.t, err)
	return string(text)
}

func (tr trace) write(file, text string) {
	tr.t.Helper()
	require.NoError(tr.t, os.WriteFile(tracefs(file), []byte(text), 0))
}

func tracefs(file string) string { return filepath.Join("/sys/kernel/tracing", file) }
