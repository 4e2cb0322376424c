package whole

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// Kept makes a file for what is observed: nobody else may read it, and
// nothing but an earlier one of the same kind is overwritten. It is written as it
// grows, and not put in its place at the end.
func Kept(name, what string, isOurs func(*os.File) error) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return overwrite(name, what, isOurs)
	}
	if err != nil {
		return nil, fmt.Errorf("making the %s: %w", what, err)
	}
	return f, nil
}

// overwrite empties an earlier file of ours.
func overwrite(name, what string, isOurs func(*os.File) error) (*os.File, error) {
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
	if err == nil {
		err = errors.Join(f.Chmod(0o600), f.Truncate(0))
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("making the %s %q: %w; give another name", what, name, err)
	}
	return f, nil
}
