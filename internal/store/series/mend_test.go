//go:build !light

package series

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// killed is a recording whose newest part is in its logs, as kill -9 leaves it:
// series that came at different times, values out of order, a block before them.
func killed(t *testing.T) (dir string) {
	t.Helper()
	from := t.TempDir()
	r := open(t, options(from))
	fill(t, r, epoch(), 360, 10*time.Second) // an hour: a block of half of it
	check(t, r.Maintain(t.Context()))
	var all []*Series
	at := epoch().Add(time.Hour)
	for round := range 40 {
		all = append(all, New("test_late_total", Label{"device", fmt.Sprintf("sd%d", round)}))
		var frames []Frame
		for i := range 10 {
			f := Frame{At: at.Add(time.Duration(i) * time.Second)}
			for n, s := range all {
				f.Values = append(f.Values, Value{s, math.Sqrt(float64(round*1000 + i*100 + n))})
			}
			frames = append(frames, f)
		}
		_, err := r.Append(frames)
		check(t, err)
		at = at.Add(10 * time.Second)
		if round%10 == 9 { // the clock was set back for a moment
			_, err := r.Append([]Frame{{epoch().Add(50*time.Minute + time.Duration(round)*time.Second), []Value{{all[0], float64(round)}}}})
			check(t, err)
		}
	}
	dir = t.TempDir() // not closed: that would tidy up
	check(t, os.CopyFS(dir, os.DirFS(from)))
	shut(t, r)
	return dir
}

// everything is all values of a recording as text, and what it warns of.
func everything(t *testing.T, dir string) (values map[string]bool, warnings string) {
	t.Helper()
	r, err := OpenReader(dir)
	if err != nil {
		return nil, err.Error() // that is said, too
	}
	defer shut(t, r)
	values = map[string]bool{}
	w, err := r.Samples(context.Background(), epoch().Add(-time.Hour), epoch().Add(5*time.Hour), time.Second, nil, func(l *Line, _ time.Duration) {
		name := fmt.Sprint(l.Name, l.Labels)
		for _, p := range l.Points {
			values[name+" "+strconv.FormatInt(p.At.UnixMilli(), 10)+" "+strconv.FormatFloat(p.Value, 'g', -1, 64)] = true
		}
	})
	check(t, err)
	return values, strings.Join(w, "\n")
}

// Wherever a byte of the logs is wrong, either all values are there or it is
// said that some are not, and never is there one that was not recorded. What is
// behind the damage is read.
func TestDamagedLogs(t *testing.T) {
	dir := killed(t)
	want, warned := everything(t, dir)
	if len(want) < 5000 || warned != "" {
		t.Fatalf("%d values, warned of %q", len(want), warned)
	}
	damages := map[string]func(b []byte, at int) []byte{
		"a bit flipped": func(b []byte, at int) []byte { b[at] ^= 1 << (at % 8); return b },
		"a byte zero":   func(b []byte, at int) []byte { b[at] = 0; return b },
		"a byte out":    func(b []byte, at int) []byte { return append(b[:at], b[at+1:]...) },
		"500 bytes zero": func(b []byte, at int) []byte {
			clear(b[at:min(at+500, len(b))])
			return b
		},
	}
	const parts = 6 // of a file, each damaged somewhere, elsewhere in each run
	said, harmless := 0, 0
	for _, sub := range []string{"wal", "wbl", "chunks_head"} {
		files, err := filepath.Glob(filepath.Join(dir, "raw", sub, "*"))
		check(t, err)
		checkpoints, err := filepath.Glob(filepath.Join(dir, "raw", sub, "checkpoint.*", "*"))
		check(t, err)
		for _, path := range append(files, checkpoints...) {
			whole, err := os.ReadFile(path)
			if err != nil || len(whole) == 0 {
				continue // a folder
			}
			for name, damage := range damages {
				for n := range parts {
					at := (n*len(whole) + rand.IntN(len(whole))) / parts
					check(t, os.WriteFile(path, damage(bytes.Clone(whole), at), 0o600))
					got, warned := everything(t, dir)
					lost, alien := 0, 0
					for v := range want {
						if !got[v] {
							lost++
						}
					}
					for v := range got {
						if !want[v] && !strings.Contains(v, "iocause_names_lost") {
							alien++
						}
					}
					rel, _ := filepath.Rel(dir, path)
					what := fmt.Sprintf("%s of %s at %d of %d", name, rel, at, len(whole))
					switch {
					case alien > 0:
						t.Errorf("%s: %d values that were never recorded", what, alien)
					case lost > 0 && warned == "":
						t.Errorf("%s: %d of %d values are missing, and nothing is said", what, lost, len(want))
					case lost > len(want)/2:
						t.Errorf("%s: %d of %d values are missing: what follows is lost: %s", what, lost, len(want), warned)
					case lost > 0:
						said++
					default:
						harmless++
					}
				}
			}
			check(t, os.WriteFile(path, whole, 0o600))
		}
	}
	t.Logf("%d said, %d harmless", said, harmless)
	if said == 0 {
		t.Error("no damage was harmful")
	}
}

// What an agent mends is said when it is, and by each reader afterwards; what
// it records then is there, and under its own name.
func TestMendedLogIsRemembered(t *testing.T) {
	for _, part := range []float64{0.05, 0.5} { // names, and values
		dir := killed(t)
		want, _ := everything(t, dir)
		files, err := filepath.Glob(filepath.Join(dir, "raw/wal/0*"))
		check(t, err)
		path := files[len(files)-1]
		info, err := os.Stat(path)
		check(t, err)
		overwrite(int64(part*float64(info.Size())), 16)(t, path)
		unmended, first := everything(t, dir)
		if first == "" || len(unmended) >= len(want) {
			t.Fatalf("%d of %d values, said %q", len(unmended), len(want), first)
		}
		var log bytes.Buffer
		o := options(dir)
		o.Log = slog.New(slog.NewTextHandler(&log, nil))
		o.Now = func() time.Time { return epoch().Add(3 * time.Hour) }
		r := open(t, o)
		if !strings.Contains(log.String(), "could not be read") {
			t.Errorf("logged %q", log.String())
		}
		new := New("test_new_total")
		_, err = r.Append([]Frame{{epoch().Add(2 * time.Hour), []Value{{new, 42}}}})
		check(t, err)
		shut(t, r)
		after, said := everything(t, dir)
		if !strings.Contains(said, "could not be read") || !strings.Contains(said, "2026-") {
			t.Errorf("said %q", said)
		}
		for v := range unmended {
			if !after[v] {
				t.Errorf("%s went when the recording was mended", v)
			}
		}
		for v := range after {
			if !want[v] && !strings.Contains(v, "test_new_total") && !strings.Contains(v, "iocause_names_lost") {
				t.Errorf("%s was never recorded", v)
			}
		}
		aside, err := os.ReadDir(filepath.Join(dir, asideDir))
		if err != nil || len(aside) != 1 {
			t.Error("the damaged segment was not kept", err)
		}
		var there []string
		filepath.WalkDir(dir, func(p string, d fs.DirEntry, _ error) error { there = append(there, p); return nil })
		if strings.Contains(strings.Join(there, " "), mendDir) {
			t.Errorf("left behind: %v", there)
		}
	}
}
