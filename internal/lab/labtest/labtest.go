// Package labtest holds what the tests of those who use the lab need.
package labtest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"iocause/internal/host"
	"iocause/internal/lab"
)

// Need skips a test for want of a requirement of the lab, and fails it where
// IOCAUSE_REQUIRE promises one of them.
func Need(t testing.TB, requirements ...string) {
	t.Helper()
	for _, r := range requirements {
		lacks := lab.Lacks(host.Live(), r)
		switch {
		case lacks == "":
		case lab.Demanded(r):
			t.Fatalf("%s is demanded: %s", r, lacks)
		default:
			t.Skipf("%s: %s", r, lacks)
		}
	}
}

// New makes an environment that is taken down with the test; dir is its scratch
// folder, "" for the usual one. The error says what the machine lacks.
func New(t testing.TB, dir string) (*lab.Env, error) {
	t.Helper()
	env, err := lab.New(host.Live(), dir)
	if err == nil {
		t.Cleanup(func() {
			if err := env.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	return env, err
}

// Build makes iocause of the source, and returns where it lies until the test ends.
func Build(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "iocause")
	c := exec.Command("go", "build", "-o", path, "iocause")
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("building iocause: %v\n%s", err, out)
	}
	return path
}
