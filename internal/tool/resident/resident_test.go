package resident

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"iocause/internal/host"
	"iocause/internal/require"
	"iocause/internal/source/proc/proctest"
	"iocause/internal/source/residency"
	"iocause/internal/table"
)

// seen is a cache of three files.
func seen() *Cache {
	pages := residency.Pages{Cached: 3, Dirty: 1}
	hidden := residency.Pages{Cached: 2, Dirty: -1}
	return &Cache{Version: version, Bytes: 100 << 10, Moved: 512, Rest: "others", Notes: []string{"a note"},
		Sums: []Sum{{"files", 3, 30 << 10}, {"shmem", -1, 5 << 10}},
		Files: []File{
			{Path: "/small\xff", Size: 8 << 10, Cached: 8 << 10, Kind: "file", State: "open", pid: 7, measured: &hidden},
			{Path: "/large", Size: 1 << 20, Cached: 12 << 10, Kind: "file", State: "closed", measured: &pages},
			{Path: "/tmpfs", Size: 4 << 10, Cached: 10 << 10, Kind: "tmpfs", State: "mapped", measured: &pages},
		}}
}

// What an incident keeps shows the same tables as the look did, odd bytes of
// names included.
func TestEvidenceIsTheLook(t *testing.T) {
	x := proctest.NewTree(t)
	x.Write("proc/7/comm", "reader\n")
	o := &Observer{host: x.Host(), Refused: errors.New("no programs here")}
	now := seen()
	require.NoError(t, o.Keep(now))
	if now.Files[0].Path != "/large" || now.Files[2].By != "reader (7)" || now.Files[2].Dirty != nil || *now.Files[0].Dirty == 0 {
		t.Errorf("%+v", now.Files)
	}
	kept, err := json.Marshal(now)
	require.NoError(t, err)
	var again Cache
	require.NoError(t, json.Unmarshal(kept, &again))
	for _, f := range []Form{{Sort: "cached_bytes"}, {Sort: "size_bytes", Top: 2, People: true, Narrow: true}} {
		want, err1 := CacheTables(o, now, nil, Choice{}, f, nil)
		got, err2 := CacheTables(nil, &again, nil, Choice{}, f, nil)
		a, _ := json.Marshal(want)
		b, _ := json.Marshal(got)
		if err1 != nil || err2 != nil || !bytes.Equal(a, b) {
			t.Errorf("seen (%v)\n%s\nkept (%v)\n%s", err1, a, err2, b)
		}
	}
}

// Evidence of versions before this one opens, and is narrowed by name.
func TestOldEvidence(t *testing.T) {
	const old = `{"version":1,"at":"2026-01-02T03:04:05Z","cache_bytes":1000,"moved_bytes":0,"sums":[{"kind":"files","files":2,"bytes":900}],"rest":"r","notes":["n"],
		"files":[{"path":"/a","size_bytes":500,"cached_bytes":400,"dirty_bytes":null,"kind":"file","state":"closed","opened_by":""},
		{"path":"/b","size_bytes":500,"cached_bytes":300,"dirty_bytes":100,"kind":"file","state":"open","opened_by":"x (3)"}],"left":7}`
	var c Cache
	require.NoError(t, json.Unmarshal([]byte(old), &c))
	isB := func(path string) bool { return path == "/b" }
	tables, err := CacheTables(nil, &c, nil, Choice{Named: isB, On: func(host.DevNumber) bool { return true }, Device: isB}, Form{}, nil)
	require.NoError(t, err)
	files, cache := tables[0], tables[1]
	if len(files.Rows) != 1 || files.Rows[0][0].Number != 300 || files.Rows[0][4].Number != 100 || files.Rows[0][7].Text != "x (3)" {
		t.Errorf("%+v", files.Rows)
	}
	if rest := cache.Rows[1]; rest[0].Number != 100 {
		t.Errorf("the remainder is %+v", rest)
	}
	if notes := fmt.Sprint(files.Notes, cache.Notes); !strings.Contains(notes, "1 of 2 files asked for, with 300") || !strings.Contains(notes, "7 files with less") {
		t.Error(notes)
	}
}

// A file that came since had nothing cached; one that is the same has its change.
func TestChanges(t *testing.T) {
	old, now := seen(), seen()
	for i := range now.Files {
		old.Files[i].id.ino, now.Files[i].id.ino = uint64(i), uint64(i)
	}
	old.Files[1].Cached = 2 << 10
	old.Files[2].id.ino = 99
	tables, err := CacheTables(nil, now, old, Choice{}, Form{}, nil)
	require.NoError(t, err)
	for i, want := range []float64{0, 10 << 10, 10 << 10} {
		if got := tables[0].Rows[i][4]; got.State != table.Known || got.Number != want {
			t.Errorf("file %d: change %+v, want %g", i, got, want)
		}
	}
}

// The share is that of a file's pages, of which a small file fills one in part.
func TestShareOfPages(t *testing.T) {
	page := os.Getpagesize()
	now := seen()
	now.Files = []File{
		{Path: "/tiny", Size: 100, Cached: float64(page), Kind: "file"},
		{Path: "/half", Size: int64(page) + 1, Cached: float64(page), Kind: "file"},
		{Path: "/whole", Size: 2 * int64(page), Cached: 2 * float64(page), Kind: "file"},
		{Path: "/empty", Kind: "file"},
	}
	tables, err := CacheTables(nil, now, nil, Choice{}, Form{}, nil)
	require.NoError(t, err)
	for i, want := range []table.Cell{table.Num(1), table.Num(0.5), table.Num(1), table.None()} {
		if got := tables[0].Rows[i][2]; got != want {
			t.Errorf("%s: %+v, want %+v", now.Files[i].Path, got, want)
		}
	}
}

func TestBar(t *testing.T) {
	if got, want := bar([]float64{0, 0.1, 0.5, 0.99, 1}), "·░▒▓█"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
