package host

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"iocause/internal/require"
)

func TestHasCapability(t *testing.T) {
	dir := t.TempDir()
	h := Tree(dir, time.Now)
	if h.HasCapability(CapSysPtrace) {
		t.Error("had from nowhere")
	}
	require.NoError(t, os.MkdirAll(h.Proc("self"), 0o755))
	for status, want := range map[string]bool{
		"Name:\tx\nCapPrm:\tffffffffffffffff\nCapEff:\t0000000000080000\n": true,
		"CapEff:\tfffffffffff7ffff\n":                                      false,
		"CapEff:\tmany\n":                                                  false,
		"CapEff:":                                                          false,
		"":                                                                 false,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "proc/self/status"), []byte(status), 0o600))
		if got := h.HasCapability(CapSysPtrace); got != want {
			t.Errorf("%q: %v", status, got)
		}
	}
}
