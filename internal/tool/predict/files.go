package predict

import (
	"cmp"
	"fmt"
	"slices"

	"iocause/internal/host"
	"iocause/internal/predict"
	"iocause/internal/sample"
	"iocause/internal/table"
)

// HeldFile is a file, and what memories of other sizes hold of it at the end of the
// window.
type HeldFile struct {
	Path string  `json:"path"`       // or its number, where nobody has it open
	Size int64   `json:"size_bytes"` // 0: not known
	Half float64 `json:"held_by_half_bytes"`
	Now  float64 `json:"held_now_bytes"` // by the model
	Knee float64 `json:"held_by_more_bytes"`
	id   sample.FileID
}

// mostFiles is how many are listed.
const mostFiles = 10

// leastHeld is the part of the memory that a file must take to be worth a line.
const leastHeld = 0.005

// known is the files that the processes in question have open.
func (o *Observer) known(chosen func(int, string) bool) map[sample.FileID]host.OpenFile {
	files, looked := map[sample.FileID]host.OpenFile{}, map[int32]bool{}
	for i := range o.events {
		e := &o.events[i]
		if looked[e.pid] || e.Kind == predict.Evicted || !chosen(int(e.pid), o.cgroups[e.cgroup]) {
			continue
		}
		looked[e.pid] = true
		for _, f := range o.host.OpenFiles(int(e.pid)) {
			files[sample.FileID{Dev: uint32(f.Dev), Ino: f.Ino}] = f
		}
	}
	return files
}

// whole is all that is known of an observation when it has ended.
type whole struct {
	*Observer
	p      *Prediction
	chosen func(int, string) bool
	trace  *predict.Trace
	pages  []uint32 // of the observer, by page of the trace
}

// fileOf is the file of each of the observer's pages.
func (w *whole) fileOf() []sample.FileID {
	of := make([]sample.FileID, len(w.hashes))
	for key, page := range w.Observer.pages {
		of[page] = key.file
	}
	return of
}

// name is a file's path, or what else it is called.
func (w *whole) name(id sample.FileID) string {
	if f, ok := w.open[id]; ok {
		return f.Path
	}
	return fmt.Sprintf("file %d of device %s", id.Ino, host.DevNumber(id.Dev))
}

// files are those of which most is in the cache, with what half of the memory and the
// size worth having hold of them.
func (w *whole) files() []HeldFile {
	of, by := w.fileOf(), map[sample.FileID]*HeldFile{}
	s, now := w.p.Place.setting(), w.p.Place.Memory
	more := 2 * now
	if knee := w.p.Curve.Judge(now).Knee; knee != nil {
		more = knee.Memory
	}
	for _, x := range []struct {
		memory int64
		to     func(*HeldFile) *float64
	}{{now / 2, func(f *HeldFile) *float64 { return &f.Half }}, {now, func(f *HeldFile) *float64 { return &f.Now }}, {more, func(f *HeldFile) *float64 { return &f.Knee }}} {
		for page, held := range w.trace.Held(s, x.memory) {
			id := of[w.pages[page]]
			if by[id] == nil {
				by[id] = &HeldFile{Path: w.name(id), Size: w.open[id].Size, id: id}
			}
			if held {
				*x.to(by[id]) += float64(w.trace.Scale) * predict.PageSize
			}
		}
	}
	var all []HeldFile
	for _, f := range by {
		if max(f.Half, f.Now, f.Knee) >= leastHeld*float64(now) {
			all = append(all, *f)
		}
	}
	slices.SortFunc(all, func(a, b HeldFile) int {
		return cmp.Or(cmp.Compare(b.Knee, a.Knee), cmp.Compare(b.Now, a.Now), cmp.Compare(a.Path, b.Path))
	})
	return all[:min(len(all), mostFiles)]
}

// FilesTable is what memories of other sizes hold of the largest files.
func (p *Prediction) FilesTable() table.Table {
	t := table.Table{Key: "files", Title: "What the memory holds of files", Whole: true, Columns: []table.Column{
		{Key: "path", Head: "FILE"},
		{Key: "size_bytes", Head: "SIZE", Unit: "bytes"},
		{Key: "held_by_half_bytes", Head: "HALF", Unit: "bytes"},
		{Key: "held_now_bytes", Head: "NOW", Unit: "bytes"},
		{Key: "held_by_more_bytes", Head: "MORE", Unit: "bytes"},
	}}
	for _, f := range p.Files {
		t.Rows = append(t.Rows, []table.Cell{table.Str(f.Path), table.Maybe(float64(f.Size), f.Size > 0), table.Num(f.Half), table.Num(f.Now), table.Num(f.Knee)})
	}
	return t
}
