package recording

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
)

// Shelf keeps windows in a folder for as long, and in as much room, as they
// may take: in recordings of an hour at most, of which the oldest go. It is
// used by one goroutine, and is the only one that writes the folder.
type Shelf struct {
	o     ShelfOptions
	all   []shelved // the oldest first; the last is the one that is written, while there is one
	bytes int64     // of all
	file  *os.File  // nil while none is written
	w     *Writer
	began time.Time // of the file
}

// ShelfOptions say where a shelf is and what it may take.
type ShelfOptions struct {
	Dir      string
	Header   Header        // of each file; Began is filled in
	Keep     time.Duration // of what is older, whole files go
	MaxBytes int64         // the oldest go first
	// Dropped is told what goes for want of room before it is too old. nil:
	// nobody asks.
	Dropped func(from, to time.Time)
}

// shelved is one file.
type shelved struct {
	path  string
	began time.Time
	bytes int64
}

const (
	// shelfFile is how long a file goes on, and the part of the room that it
	// takes at most.
	shelfFile = time.Hour
	shelfPart = 16
	// shelfLeast is the room that even the smallest file takes.
	shelfLeast = 4096
	// longestShelved is how long a window may be for EachShelved to find it.
	longestShelved = 6 * time.Hour
	// shelfName is the name of a file: when it began, in UTC.
	shelfName = "20060102T150405.000Z"
)

// NewShelf touches nothing yet.
func NewShelf(o ShelfOptions) *Shelf { return &Shelf{o: o} }

// Window adds a window. After an error the next call begins a new file.
func (s *Shelf) Window(r *Record) error {
	at := r.Window.Start.Add(r.Window.Length)
	if s.file != nil && (at.Before(s.began) || at.Sub(s.began) >= shelfFile || s.w.Written() >= s.o.MaxBytes/shelfPart) {
		if err := s.Close(); err != nil {
			return err
		}
	}
	if s.file != nil && s.lost() { // the folder was removed, or another one was mounted there
		_ = s.file.Close() // nobody can read it any more
		s.file = nil
	}
	if s.file == nil {
		if err := s.begin(at); err != nil {
			return fmt.Errorf("keeping a window: %w", err)
		}
	}
	if err := s.prune(at); err != nil {
		return err
	}
	now := &s.all[len(s.all)-1]
	before := now.bytes
	if err := s.w.Window(r); err != nil {
		// The disk is full, most likely: half a record helps nobody.
		err = errors.Join(err, s.file.Truncate(before), s.file.Close())
		s.file = nil
		return fmt.Errorf("keeping a window: %w", err)
	}
	now.bytes = s.w.Written()
	s.bytes += now.bytes - before
	return nil
}

// lost tells whether what is written can no longer be found by its name.
func (s *Shelf) lost() bool {
	mine, err := s.file.Stat()
	if err != nil {
		return true
	}
	there, err := os.Lstat(s.all[len(s.all)-1].path)
	return err != nil || !os.SameFile(mine, there)
}

// begin makes the next file, and looks at what there is.
func (s *Shelf) begin(at time.Time) error {
	if err := os.MkdirAll(s.o.Dir, 0o700); err != nil {
		return err
	}
	all, err := listShelf(s.o.Dir)
	if err != nil {
		return err
	}
	// It gets its name when its first bytes are there: who reads at the same
	// time would take a file without them for a damaged one.
	next := filepath.Join(s.o.Dir, "next")
	if err := os.Remove(next); err != nil && !errors.Is(err, fs.ErrNotExist) { // of one that was killed here
		return err
	}
	f, err := os.OpenFile(next, os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	h := s.o.Header
	h.Began = at
	w, err := newWriter(f, h, zstd.SpeedFastest) // a megabyte of memory less all the time, for a twentieth more on the disk
	if err != nil {
		return errors.Join(err, f.Close(), os.Remove(next))
	}
	name := ""
	for try := range 1000 { // the clock may have been set back
		name = filepath.Join(s.o.Dir, at.Add(time.Duration(try)*time.Millisecond).UTC().Format(shelfName)+Suffix)
		if _, err := os.Lstat(name); errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if err := os.Rename(next, name); err != nil {
		return errors.Join(err, f.Close(), os.Remove(next))
	}
	s.all, s.file, s.w, s.began, s.bytes = append(all, shelved{name, at, w.Written()}), f, w, at, 0
	for _, x := range s.all {
		s.bytes += x.bytes
	}
	return nil
}

// prune deletes what is too old and what is too much, with room for a window,
// but not what is written now. What is dated after now is not too old: the clock may be what is wrong.
func (s *Shelf) prune(now time.Time) error {
	var failed []error
	for len(s.all) > 1 {
		old := now.Sub(s.all[0].began) > s.o.Keep+shelfFile
		if !old && s.bytes <= s.o.MaxBytes-s.o.MaxBytes/shelfPart {
			break
		}
		if err := os.Remove(s.all[0].path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			failed = append(failed, err)
		} else if !old && s.o.Dropped != nil {
			from, to := s.all[0].began, s.all[1].began
			s.o.Dropped(from, from.Add(min(to.Sub(from), shelfFile)))
		}
		s.bytes -= s.all[0].bytes
		s.all = s.all[1:]
	}
	if err := errors.Join(failed...); err != nil {
		return fmt.Errorf("deleting old windows: %w", err)
	}
	return nil
}

// Bytes is the room that all files take.
func (s *Shelf) Bytes() int64 { return s.bytes }

// Close ends the file that is written, if any.
func (s *Shelf) Close() error {
	if s.file == nil {
		return nil
	}
	err := errors.Join(s.w.End(End{}), s.file.Close())
	s.file = nil
	if err != nil {
		return fmt.Errorf("ending a file of windows: %w", err)
	}
	return nil
}

// listShelf are the files of a folder, the oldest first.
func listShelf(dir string) ([]shelved, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var all []shelved
	for _, e := range entries {
		began, err := time.Parse(shelfName, strings.TrimSuffix(e.Name(), Suffix))
		if err != nil || !strings.HasSuffix(e.Name(), Suffix) || !e.Type().IsRegular() {
			continue
		}
		info, err := e.Info()
		if err != nil {
			continue // removed meanwhile
		}
		all = append(all, shelved{filepath.Join(dir, e.Name()), began, max(info.Size(), shelfLeast)})
	}
	slices.SortStableFunc(all, func(a, b shelved) int { return a.began.Compare(b.began) })
	return all, nil
}

// EachShelved hands out the windows of a folder whose middle lies in an interval,
// file by file. It returns what could not be read, for people; the rest was
// handed out. An error that wraps fs.ErrNotExist is a folder that is not there.
func EachShelved(dir string, from, to time.Time, f func(*Record) error) (lost []string, err error) {
	all, err := listShelf(dir)
	if err != nil {
		return nil, fmt.Errorf("reading what was kept: %w", err)
	}
	for _, x := range all {
		if x.began.Add(-longestShelved).After(to) || x.began.Add(shelfFile+longestShelved).Before(from) {
			continue
		}
		more, err := eachOf(x.path, from, to, f)
		lost = append(lost, more...)
		if err != nil {
			return lost, err
		}
	}
	return lost, nil
}

func eachOf(path string, from, to time.Time, f func(*Record) error) (lost []string, err error) {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // it became too old meanwhile
	}
	if err != nil {
		return []string{err.Error()}, nil
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return []string{err.Error()}, nil
	}
	r, err := NewReader(file, info.Size())
	if err != nil {
		return []string{fmt.Sprintf("%s: %v", path, err)}, nil
	}
	r.Only(from, to)
	for {
		one, err := r.Next()
		if err != nil { // the end, or what the disk does not give
			told, more := r.Losses()
			for _, l := range told {
				lost = append(lost, fmt.Sprintf("%s: %s", path, l))
			}
			if more > 0 {
				lost = append(lost, fmt.Sprintf("%s: %d more parts cannot be read", path, more))
			}
			if !errors.Is(err, io.EOF) {
				lost = append(lost, fmt.Sprintf("%s: %v", path, err))
			}
			return lost, nil
		}
		if err := f(one); err != nil {
			return lost, err
		}
	}
}
