package lab

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"iocause/internal/require"
)

// What a machine sends home is the run, its kernel noted; what goes wrong with
// booting or fetching is said with the script's last words. The scripts stand in
// for those of test/vm, which take minutes.
func TestGuests(t *testing.T) {
	scenario, err := readText(t, strings.Replace(sound, "requires: [root]", "requires: [root]\nvm: {iops: 50, kernel: sid=7.2}", 1))
	require.NoError(t, err)
	if scenario.NeedsGuest() == "" {
		t.Error("the scenario does not say that it needs a virtual machine")
	}
	const kernel = "#!/bin/bash\necho x >>\"$(dirname \"$0\")/fetched\"\n[ \"$*\" = 'sid 7.2' ] && echo /the/kernel\n"
	const boot = `while getopts k:s:f:o:d:en:D:i:b:m:c:t:q o; do case $o in
	k) [ "$OPTARG" = /the/kernel ] || exit 3 ;;
	i) [ "$OPTARG" = 50 ] || exit 4 ;;
	m) [ "$OPTARG" = 1536 ] || exit 5 ;;
	f) [ -e "$OPTARG" ] || exit 6; case $OPTARG in */scenarios) grep -q title "$OPTARG/a-name/scenario.yaml" || exit 7 ;; esac ;;
	o) result=$OPTARG ;;
esac; done
`
	for _, c := range []struct{ name, boot, want, err string }{
		{"well", boot + `echo '{"kernel": "7.2", "runs": [{"scenario": "a-name", "got": "healthy"}]}' >"$result"`, "healthy", ""},
		{"dead once", boot + `[ -e "$0.died" ] || { : >"$0.died"; exit 125; }; echo '{"kernel": "7.2", "runs": [{"scenario": "a-name", "got": "healthy"}]}' >"$result"`, "healthy", ""},
		{"dead", boot + "echo boot: it hangs; exit 125", "", "exit status 125: boot: it hangs"},
		{"mute", boot + `: >"$result"`, "", "read what the virtual machine sent"},
		{"odd", boot + `echo '{"runs": []}' >"$result"`, "", "0 runs, not one"},
	} {
		t.Run(c.name, func(t *testing.T) {
			binary := filepath.Join(t.TempDir(), "program")
			scripts := fstest.MapFS{"kernel": {Data: []byte(kernel)}, "boot": {Data: []byte(c.boot)}}
			require.NoError(t, os.WriteFile(binary, []byte("no program"), 0o700))
			if _, err := NewGuests(scripts, binary, os.ReadFile); err == nil {
				t.Error("takes what is no program")
			}
			g := &Guests{dir: t.TempDir(), scenario: func(string) ([]byte, error) { return []byte(sound), nil }, kernels: map[string]string{}}
			require.NoError(t, g.fill(scripts, binary))
			for range 2 { // the kernel is fetched once
				run, err := g.Run(t.Context(), scenario)
				if c.err == "" && (err != nil || run.Got != c.want || run.Kernel != "7.2") {
					t.Errorf("%+v, %v", run, err)
				}
				if c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
					t.Errorf("%v, want %s", err, c.err)
				}
			}
			if b, err := os.ReadFile(filepath.Join(g.dir, "fetched")); err != nil || string(b) != "x\n" {
				t.Errorf("fetched %q, %v", b, err)
			}
			left, err := filepath.Glob(filepath.Join(g.dir, "run-*"))
			if err != nil || len(left) > 0 {
				t.Errorf("left behind: %v, %v", left, err)
			}
			dir := g.dir
			if err := g.Close(); err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(dir); !os.IsNotExist(err) {
				t.Errorf("the folder stays: %v", err)
			}
		})
	}
}
