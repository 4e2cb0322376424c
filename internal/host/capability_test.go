package host

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestHasCapability(t *testing.T) {
	dir := t.TempDir()
	h := Tree(dir, time.Now)
	if h.HasCapability(CapSysPtrace) {
		t.Error("had from nowhere")
	}
	if err := os.MkdirAll(h.Proc("self"), 0o755); err != nil {
		t.Fatal(err)
	}
	for status, want := range map[string]bool{
		"Name:\tx\nCapPrm:\tffffffffffffffff\nCapEff:\t0000000000080000\n": true,
		"CapEff:\tfffffffffff7ffff\n":                                      false,
		"CapEff:\tmany\n":                                                  false,
		"CapEff:":                                                          false,
		"":                                                                 false,
	} {
		if err := os.WriteFile(filepath.Join(dir, "proc/self/status"), []byte(status), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := h.HasCapability(CapSysPtrace); got != want {
			t.Errorf("%q: %v", status, got)
		}
	}
}
