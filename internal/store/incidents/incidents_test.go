package incidents

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"

	"iocause/internal/require"
	"iocause/internal/sample"
	"iocause/internal/store/frames"
)

// an is an incident with everything in it.
func an() *Incident {
	at := time.Date(2026, 11, 3, 14, 10, 0, 0, time.UTC)
	values := make([]*float64, 400)
	for i := range values {
		if i%7 != 0 {
			v := float64(i) / 8
			values[i] = &v
		}
	}
	return &Incident{
		Meta: Meta{Host: "db\x1b1", Kernel: "6.12", Program: "test", Cause: "swap-thrash", Title: "memory goes to swap", Notes: []string{"no stacks"},
			What: sample.Incident{Start: at, Opened: at.Add(4 * time.Minute), End: at.Add(9 * time.Minute), Samples: 50,
				Reasons: []sample.Reason{{Signal: "disk.pressure", Unit: "ratio", Value: 0.7, Normal: 0.1, Z: 12, Basis: "hour of week", Days: 8}},
				Limits:  []sample.Limit{{Kind: sample.LimitOOM, What: "/search"}}}},
		Finding:  json.RawMessage(`{"version":1,"primary":"swap-thrash"}`),
		Series:   []Series{{Name: "disk.pressure", Unit: "ratio", Source: "/proc/pressure/io", Start: at, Step: 10, Values: values}, {Name: "disk.busy", On: "vda", Step: 1}},
		Sections: []Section{{"processes", "application/json", []byte(`[]`)}, {"odd", "", bytes.Repeat([]byte{0xf7, 0xf8}, 5000)}, {"empty", "text/plain", []byte{}}},
	}
}

func TestWhatIsSavedIsLoaded(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "incidents")
	if _, err := List(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nothing there: %v", err)
	}
	if _, err := Load(dir, 1); !errors.Is(err, ErrNone) {
		t.Errorf("nothing there: %v", err)
	}
	x := an()
	require.NoError(t, Save(dir, x))
	if x.Meta.Number != 1 || x.Meta.Records != 6 {
		t.Errorf("%+v", x.Meta)
	}
	got, err := Load(dir, 1)
	if err != nil || !reflect.DeepEqual(got, x) {
		t.Errorf("%v: %+v, want %+v", err, got, x)
	}
	info, err := os.Stat(filepath.Join(dir, "000001.iocause"))
	if err != nil || info.Mode().Perm() != 0o600 || info.Size() > 3000 {
		t.Errorf("%v %v", info, err)
	}
	second := an()
	if err := Save(dir, second); err != nil || second.Meta.Number != 2 {
		t.Errorf("%v %+v", err, second.Meta)
	}
	second.Meta.Open, second.Finding = true, nil
	require.NoError(t, Save(dir, second))
	// what does not belong there is left alone
	for _, name := range []string{"7.iocause", "x.iocause", "notes"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
	}
	list, err := List(dir)
	if err != nil || len(list) != 2 || !reflect.DeepEqual(list[0].Meta, second.Meta) || !reflect.DeepEqual(list[1].Meta, x.Meta) || list[1].Bytes != info.Size() {
		t.Errorf("%v %+v", err, list)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 5 {
		t.Errorf("left behind: %v %v", entries, err)
	}
}

// A save that fails leaves the file as it was, and nothing else.
func TestSaveThatFails(t *testing.T) {
	dir := t.TempDir()
	x := an()
	require.NoError(t, Save(dir, x))
	before, err := os.ReadFile(Path(dir, 1))
	require.NoError(t, err)
	x.Finding = json.RawMessage(`{`)
	x.Sections = append(x.Sections, Section{Name: "long", Data: make([]byte, mostRecord+1)})
	if err := Save(dir, x); err == nil || !strings.Contains(err.Error(), "keeping incident 1: writing the incident: record \"long\" has ") {
		t.Errorf("%v", err)
	}
	after, err := os.ReadFile(Path(dir, 1))
	entries, _ := os.ReadDir(dir)
	if err != nil || !bytes.Equal(before, after) || len(entries) != 1 {
		t.Errorf("%v, %d files", err, len(entries))
	}
}

// A file that was cut anywhere behind its first record is read as far as it
// goes, and says what is missing; so is one with a damaged byte.
func TestCutAndDamagedFiles(t *testing.T) {
	var b bytes.Buffer
	x := an()
	require.NoError(t, Write(&b, x))
	whole := b.Bytes()
	first := len(magic) + 13 // and the length of the first record
	first += int(binary.LittleEndian.Uint32(whole[first-8:]))
	every := 1
	if testing.Short() {
		every = 7
	}
	for n := 0; n < len(whole); n += every {
		got, err := Read(bytes.NewReader(whole[:n]))
		if n < first {
			if !errors.Is(err, ErrFormat) {
				t.Fatalf("%d bytes: %v", n, err)
			}
			continue
		}
		if err != nil || !reflect.DeepEqual(got.Meta, x.Meta) {
			t.Fatalf("%d bytes: %v %+v", n, err, got)
		}
		records := len(got.Series) + len(got.Sections)
		if got.Finding != nil {
			records++
		}
		if last := got.Lost[len(got.Lost)-1]; last != fmt.Sprintf("%d of its 6 records are missing", 6-records) {
			t.Fatalf("%d bytes: %q with %d records", n, got.Lost, records)
		}
	}
	for n := first; n < len(whole); n += every {
		damaged := bytes.Clone(whole)
		damaged[n] ^= 0x10
		got, err := Read(bytes.NewReader(damaged))
		if err != nil || len(got.Lost) != 2 || !strings.HasSuffix(got.Lost[0], "are lost") || got.Lost[1] != "1 of its 6 records are missing" {
			t.Fatalf("byte %d: %v %+v", n, err, got)
		}
	}
	if got, err := Read(bytes.NewReader(whole)); err != nil || len(got.Lost) != 0 {
		t.Errorf("%v %q", err, got.Lost)
	}
}

// Of a long list only the first records are read; a file that is none says so.
func TestListSaysWhatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, Save(dir, an()))
	require.NoError(t, os.WriteFile(Path(dir, 2), []byte("hello"), 0o600))
	require.NoError(t, os.WriteFile(Path(dir, 3), append([]byte(magic), make([]byte, 200)...), 0o600))
	list, err := List(dir)
	if err != nil || len(list) != 3 || !errors.Is(list[0].Err, ErrFormat) || !errors.Is(list[1].Err, ErrFormat) || list[2].Err != nil {
		t.Errorf("%v %+v", err, list)
	}
}

func TestPruneKeepsTheNewestAndTheOpen(t *testing.T) {
	dir := t.TempDir()
	if gone, err := Prune(filepath.Join(dir, "none"), 0); err != nil || gone != nil {
		t.Errorf("%v %v", gone, err)
	}
	for n := range 5 {
		x := an()
		x.Meta.Open = n == 1
		require.NoError(t, Save(dir, x))
	}
	list, err := List(dir)
	require.NoError(t, err)
	gone, err := Prune(dir, list[0].Bytes+list[1].Bytes+list[3].Bytes)
	if err != nil || !slices.Equal(gone, []int{1, 3}) {
		t.Errorf("%v %v", gone, err)
	}
	// the next number is new, though the oldest are gone
	x := an()
	if err := Save(dir, x); err != nil || x.Meta.Number != 6 {
		t.Errorf("%v %d", err, x.Meta.Number)
	}
}

func FuzzRead(f *testing.F) {
	var b bytes.Buffer
	require.NoError(f, Write(&b, an()))
	f.Add(b.Bytes())
	f.Add([]byte(magic))
	f.Fuzz(func(t *testing.T, data []byte) {
		x, err := Read(bytes.NewReader(data))
		if err == nil && !strings.HasPrefix(string(data), magic) {
			t.Errorf("%+v", x)
		}
	})
}

// Several writers of new incidents get different numbers, and lose none.
func TestSaveAtTheSameTime(t *testing.T) {
	dir := t.TempDir()
	const writers, each = 4, 5
	var done sync.WaitGroup
	for w := range writers {
		done.Go(func() {
			for range each {
				if err := Save(dir, &Incident{Meta: Meta{Host: fmt.Sprint(w)}}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	done.Wait()
	list, err := List(dir)
	by := map[string]int{}
	for _, e := range list {
		if by[e.Meta.Host]++; e.Err != nil || e.Meta.Number != e.Number {
			t.Errorf("%d: %d, %v", e.Number, e.Meta.Number, e.Err)
		}
	}
	if err != nil || len(list) != writers*each || by["0"] != each || by["3"] != each {
		t.Errorf("%d incidents, %v, %v", len(list), by, err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
		t.Errorf("left over: %v", left)
	}
}

// Who asks for an incident that is not there hears which are.
func TestMissingSaysWhatThereIs(t *testing.T) {
	dir := t.TempDir()
	if err := Missing(filepath.Join(dir, "no")); !errors.Is(err, ErrNone) || !strings.Contains(err.Error(), "there is none at all yet") {
		t.Error(err)
	}
	for range 7 {
		if err := Save(dir, an()); err != nil {
			t.Fatal(err)
		}
	}
	if err := Missing(dir); !errors.Is(err, ErrNone) || !strings.HasSuffix(err.Error(), "it has 7, 6, 5, 4, 3, and 2 older: see 'iocause incidents'") {
		t.Error(err)
	}
}

// What unpacks to far more than its size is refused, in little memory and soon: as a
// record, as very many, as many that are each within the limit, and as the first one,
// without which nothing is read.
func TestBombInPlaceOfAnIncident(t *testing.T) {
	enc, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	zeros := enc.EncodeAll(make([]byte, mostRecord), nil)
	small := enc.EncodeAll(make([]byte, frames.Spare), nil)
	record := func(kind byte, body []byte) []byte {
		return frames.Append(nil, append([]byte{kind, packed, 0, 0}, body...))
	}
	meta := record(kindMeta, enc.EncodeAll([]byte(`{"number":7}`), nil))
	for _, c := range []struct {
		name   string
		first  []byte
		record []byte
		times  int
		want   string // of what is lost; "" where nothing can be read
	}{
		{"one of 64 MiB", meta, record(kindSection, zeros), 1, frames.ErrBomb.Error()},
		{"a thousand of 64 MiB", meta, record(kindSeries, zeros), 1000, frames.ErrBomb.Error()},
		{"a thousand of 256 KiB", meta, record(kindSection, small), 1000, frames.ErrBomb.Error()},
		{"the first", record(kindMeta, zeros), nil, 1, ""},
	} {
		file := append([]byte(magic), c.first...)
		file = append(file, bytes.Repeat(c.record, c.times)...)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		began := time.Now()
		x, err := Read(bytes.NewReader(file))
		took := time.Since(began)
		runtime.ReadMemStats(&after)
		if c.want == "" && !errors.Is(err, ErrFormat) {
			t.Errorf("%s: %v, want %v", c.name, err, ErrFormat)
		}
		if c.want != "" && (err != nil || x.Meta.Number != 7 || !strings.Contains(strings.Join(x.Lost, "\n"), c.want)) {
			t.Errorf("%s: %v, lost %q; want its beginning, and %q", c.name, err, x.Lost[:min(3, len(x.Lost))], c.want)
		}
		kept := 0
		if x != nil {
			for _, section := range x.Sections {
				kept += len(section.Data)
			}
		}
		if kept > mostAll {
			t.Errorf("%s: %d MiB were unpacked, and %d are the most", c.name, kept>>20, mostAll>>20)
		}
		// what all of it may unpack to is counted anew each time that a buffer grows
		if n := after.TotalAlloc - before.TotalAlloc; n > 8*mostAll+uint64(4*len(file)) || took > 10*time.Second {
			t.Errorf("%s: %d KiB of file took %d MiB of memory and %s", c.name, len(file)>>10, n>>20, took)
		}
	}
}
