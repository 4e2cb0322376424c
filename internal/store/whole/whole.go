// Package whole writes files that are there whole and on the disk, or not at
// all: to a new file beside the place, which takes it when all is written.
package whole

import (
	"bufio"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// unfinished begins the names of files that are being written.
const unfinished = ".iocause-unfinished-"

// leftoverAge is how old a file is that is not being written any more.
const leftoverAge = time.Hour

// Write puts a file in the place of what is there. write need not buffer.
func Write(name string, mode fs.FileMode, write func(io.Writer) error) error {
	_, err := put(name, mode, write, os.Rename)
	return err
}

// Create puts a file where none is: else the error is fs.ErrExist. there tells
// whether the file is in its place; with an error, too, when the folder could
// not be brought to the disk.
func Create(name string, mode fs.FileMode, write func(io.Writer) error) (there bool, err error) {
	return put(name, mode, write, os.Link)
}

// Bytes writes these.
func Bytes(b []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	}
}

// put writes a file and moves it to its place. The name of the new file is
// nobody else's: several processes may write the same.
func put(name string, mode fs.FileMode, write func(io.Writer) error, move func(from, to string) error) (there bool, err error) {
	dir := filepath.Dir(name)
	removeLeftovers(dir)
	f, err := os.CreateTemp(dir, unfinished+"*")
	if err != nil {
		return false, err
	}
	defer os.Remove(f.Name()) // gone when it was renamed, one of two names when it was linked
	defer f.Close()
	w := bufio.NewWriter(f)
	if err := errors.Join(write(w), w.Flush()); err != nil {
		return false, err
	}
	if err := errors.Join(f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return false, err
	}
	if err := move(f.Name(), name); err != nil {
		return false, err
	}
	d, err := os.Open(dir)
	if err != nil {
		return true, err
	}
	defer d.Close()
	return true, d.Sync() // the name, too, is on the disk
}

// removeLeftovers deletes what writers that were killed had begun. What cannot
// be deleted is somebody else's, and in nobody's way.
func removeLeftovers(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // writing will fail, too, and say why
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), unfinished) {
			continue
		}
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()).Abs() > leftoverAge {
			_ = os.Remove(filepath.Join(dir, e.Name()))
		}
	}
}
