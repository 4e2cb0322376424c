package filters

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"iocause/internal/diagnose"
	"iocause/internal/host"
	"iocause/internal/sample"
)

// A table without rows would pass for "nothing happened" where what was asked for does
// not exist. A file of another container, or one that is made later, counts as seen.
func TestNothingOfTheNameIsNoAnswer(t *testing.T) {
	dir := t.TempDir()
	here := filepath.Join(dir, "here")
	if err := os.WriteFile(here, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	window := func(path string) *sample.Window {
		r := sample.NewRecorder(time.Unix(0, 0))
		if path != "" {
			r.PutFile(sample.FileID{Dev: 1, Ino: 2}, sample.File{Path: path})
		}
		return r.Window(time.Unix(1, 0))
	}
	for _, c := range []struct {
		file, comm, seen, want string
	}{
		{here, "", "", ""},
		{dir, "", "", ""},
		{"*.ibd", "", "", ""},
		{filepath.Join(dir, "no*"), "", "", ""},
		{filepath.Join(dir, "no"), "", "", "there is no file or directory"},
		{filepath.Join(dir, "no"), "", filepath.Join(dir, "other"), "nor did one appear in the 1 s watched; give a path"},
		{filepath.Join(dir, "no"), "", filepath.Join(dir, "no", "below"), ""},
		{"", "no-such-name", here, "there is no process called \"no-such-name\", nor did one appear"},
	} {
		a := NotThere(host.Live(), diagnose.Target{Comm: c.comm}, c.file)
		var said strings.Builder
		a.Warn(&said)
		w := window(c.seen)
		a.See(w)
		err := a.Err(w.Seconds())
		if (err != nil) != (c.want != "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c, err)
		}
		if c.want != "" && !strings.Contains(said.String(), "now; watching in case that changes") {
			t.Errorf("%+v: said %q", c, said.String())
		}
	}
}
