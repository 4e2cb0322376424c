package whole

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// A KeptFile is written as it grows, and not put in its place at the end. Until the
// first write an earlier file is as it was: whether anything can be observed is known
// only then.
type KeptFile struct {
	file    *os.File
	what    string // for errors
	earlier bool   // to be emptied
	written bool
}

// Kept makes a file for what is observed: nobody else may read it, and
// nothing but an earlier one of the same kind is overwritten.
func Kept(name, what string, isOurs func(*os.File) error) (*KeptFile, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return again(name, what, isOurs)
	}
	if err != nil {
		return nil, fmt.Errorf("making the %s: %w", what, err)
	}
	return &KeptFile{file: f, what: what}, nil
}

// again opens an earlier file of ours.
func again(name, what string, isOurs func(*os.File) error) (*KeptFile, error) {
	f, err := os.OpenFile(name, os.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("making the %s: %w; give another name", what, err)
	}
	var st unix.Stat_t
	err = unix.Fstat(int(f.Fd()), &st)
	if err == nil && (st.Mode&unix.S_IFMT != unix.S_IFREG || int(st.Uid) != os.Geteuid()) {
		err = errors.New("it exists already and belongs to another user")
	}
	if err == nil && st.Size > 0 && isOurs(f) != nil {
		err = fmt.Errorf("it exists already and is not a %s", what)
	}
	if err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("making the %s %q: %w; give another name", what, name, err)
	}
	return &KeptFile{file: f, what: what, earlier: true}, nil
}

// File is the file itself.
func (k *KeptFile) File() *os.File { return k.file }

// Write empties the earlier file first.
func (k *KeptFile) Write(b []byte) (int, error) {
	if k.earlier && !k.written {
		if err := errors.Join(k.file.Chmod(0o600), k.file.Truncate(0)); err != nil {
			return 0, err
		}
	}
	k.written = true
	return k.file.Write(b)
}

// Close takes a new file away that nothing was written to.
func (k *KeptFile) Close() error {
	err := k.file.Close()
	if !k.earlier && !k.written {
		err = errors.Join(err, os.Remove(k.file.Name()))
	}
	if err != nil {
		return fmt.Errorf("writing the %s: %w", k.what, err)
	}
	return nil
}
