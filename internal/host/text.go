package host

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"syscall"
)

// LineError is a line of a kernel file that could not be understood. Put
// behind the file's name and a colon it reads "file:line: what".
type LineError struct {
	Line int // from 1
	What string
}

func (e *LineError) Error() string { return fmt.Sprintf("%d: %s", e.Line, e.What) }

// In names the file that an error of a parser came from.
func In(path string, err error) error {
	if err == nil {
		return nil
	}
	var l *LineError
	if errors.As(err, &l) {
		return fmt.Errorf("reading %s:%w", path, err)
	}
	return fmt.Errorf("reading %s: %w", path, err)
}

// maxFile bounds what is read of one file, in bytes. Kernel files are far
// smaller; the bound is against a file that never ends.
const maxFile = 16 << 20

// ErrTooLong is a file longer than any kernel file that is read here.
var ErrTooLong = errors.New("longer than 16 MiB")

// Read reads a whole file into buf's memory, which it grows when needed, and
// returns the filled part. It goes around os.File, whose finalizer and poller
// cost as much as reading a small kernel file.
func Read(path string, buf []byte) ([]byte, error) { return read(path, buf, false) }

// ReadRecord is Read of a file that the kernel makes in one piece, as those of
// cgroups: where one read has not filled the memory there is no more.
func ReadRecord(path string, buf []byte) ([]byte, error) { return read(path, buf, true) }

func read(path string, buf []byte, record bool) ([]byte, error) {
	buf = buf[:0]
	fd, err := open(path)
	if err != nil {
		return buf, &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer syscall.Close(fd)
	return readFrom(fd, path, buf, readOn, record)
}

// Kept is a file of the kernel that stays open: to read it anew takes a quarter of the
// time. It takes a descriptor, and a page of kernel memory once it was read.
type Kept struct {
	path string
	fd   int
}

// Keep opens a file that the kernel makes in one piece.
func Keep(path string) (Kept, error) {
	fd, err := open(path)
	if err != nil {
		return Kept{}, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return Kept{path, fd}, nil
}

// Read is ReadRecord of it, as it is now.
func (k Kept) Read(buf []byte) ([]byte, error) {
	return readFrom(k.fd, k.path, buf[:0], syscall.Pread, true)
}

// Close closes it.
func (k Kept) Close() { syscall.Close(k.fd) } // nothing was written

// readOn is what syscall.Pread is, on from where the file is.
func readOn(fd int, to []byte, _ int64) (int, error) { return syscall.Read(fd, to) }

// readFrom reads what is left of a file to the memory behind buf.
func readFrom(fd int, path string, buf []byte, read func(fd int, to []byte, at int64) (int, error), record bool) ([]byte, error) {
	if cap(buf) == 0 {
		buf = make([]byte, 0, 4096)
	}
	for {
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		n, err := read(fd, buf[len(buf):cap(buf)], int64(len(buf)))
		switch {
		case err == syscall.EINTR:
			continue
		case err != nil:
			return buf, &os.PathError{Op: "read", Path: path, Err: err}
		case n <= 0:
			return buf, nil
		}
		if buf = buf[:len(buf)+n]; len(buf) > maxFile {
			return buf, &os.PathError{Op: "read", Path: path, Err: ErrTooLong}
		}
		if record && len(buf) < cap(buf) {
			return buf, nil
		}
	}
}

func open(path string) (int, error) {
	for {
		fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC|syscall.O_NONBLOCK, 0)
		if err != syscall.EINTR {
			return fd, err
		}
	}
}

// readString reads a one-value file without its trailing blanks.
func readString(path string) (string, error) {
	b, err := ReadRecord(path, make([]byte, 0, 512))
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(string(b)), nil
}

// ReadNumber reads a file that holds one number.
func ReadNumber(path string) (uint64, error) {
	s, err := readString(path)
	if err != nil {
		return 0, err
	}
	n, ok := Uint([]byte(s))
	if !ok {
		return 0, In(path, &LineError{1, fmt.Sprintf("%.40q is not a number", s)})
	}
	return n, nil
}

// Line splits off the first line, without its end.
func Line(b []byte) (line, rest []byte) {
	if i := bytes.IndexByte(b, '\n'); i >= 0 {
		return b[:i], b[i+1:]
	}
	return b, nil
}

// Field splits off the first field; fields are parted by blanks and tabs. It
// is empty when there is none left.
func Field(b []byte) (field, rest []byte) {
	i := 0
	for i < len(b) && (b[i] == ' ' || b[i] == '\t') {
		i++
	}
	j := i
	for j < len(b) && b[j] != ' ' && b[j] != '\t' {
		j++
	}
	return b[i:j], b[j:]
}

// Uint reads a decimal number. It is false for anything but digits and for
// what does not fit.
func Uint(b []byte) (n uint64, ok bool) {
	if len(b) == 0 {
		return 0, false
	}
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		d := uint64(c - '0')
		if n > math.MaxUint64/10 || n*10 > math.MaxUint64-d {
			return 0, false
		}
		n = n*10 + d
	}
	return n, true
}
