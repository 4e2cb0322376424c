package cli

import (
	"fmt"
	"strings"
	"testing"

	"iocause/internal/bpf"
	"iocause/internal/source"
)

// Why no program can be loaded is said before anything is watched, and once.
func TestNoteRefusals(t *testing.T) {
	for why, want := range map[error]string{
		bpf.ErrNotPermitted: "run as root", bpf.ErrFiles: "ulimit -n", bpf.ErrMemory: "memory limit", bpf.ErrNotSupported: "",
	} {
		var notes strings.Builder
		failed := source.Status{OpenErr: fmt.Errorf("opening a probe: %w", why)}
		noteRefusals(&notes, []source.Status{{}, failed, failed})
		if got := notes.String(); !strings.Contains(got, want) || strings.Count(got, "\n") != min(len(want), 1) {
			t.Errorf("%v: %q, want one line with %q", why, got, want)
		}
	}
}
