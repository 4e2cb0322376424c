package host

import (
	"os"
	"strings"
	"testing"
)

// The kernel says what a host is called, unless the environment does.
func TestName(t *testing.T) {
	t.Setenv(nameVariable, "")
	kernel, err := os.ReadFile("/proc/sys/kernel/hostname")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := Live().Name(), strings.TrimSpace(string(kernel)); got != want {
		t.Errorf("the host is called %q, want %q", got, want)
	}
	t.Setenv(nameVariable, "node7")
	if got := Live().Name(); got != "node7" {
		t.Errorf("the host is called %q, want node7", got)
	}
}
