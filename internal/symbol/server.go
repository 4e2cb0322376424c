package symbol

import (
	"errors"
	"time"

	"iocause/internal/host"
)

// server is who has the files of a file system: a server, or a FUSE daemon.
type server struct{ hangs bool }

// serverPatience is how long the symbols of one file of a server may take.
const serverPatience = 2 * time.Second

var errHangs = errors.New("it lies in a file system whose server or daemon does not answer")

// serverOf is the server of a file that a process has mapped, nil for none. The lock of r is held.
func (r *Resolver) serverOf(pid int, dev host.DevNumber) *server {
	s, known := r.served[dev]
	if known {
		return s
	}
	for _, mounts := range []func() (host.Mounts, error){r.host.Mounts, func() (host.Mounts, error) { return r.host.MountsOf(pid) }} {
		all, err := mounts()
		if err == nil && s == nil && all.MayWait(dev, "") {
			s = &server{}
		}
	}
	r.served[dev] = s
	return s
}

// patiently reads a part of the file. What lies on a server is read by a copy beside
// this goroutine, which is left alone where the server does not answer; no more is asked
// of that server then.
func (f *file) patiently(read func(*file) error) error {
	if f.server == nil {
		return read(f)
	}
	if f.server.hangs {
		return errHangs
	}
	beside := *f
	done := make(chan error, 1)
	go func() { done <- read(&beside) }()
	select {
	case err := <-done:
		*f = beside
		return err
	case <-time.After(serverPatience):
		f.server.hangs = true
		return errHangs
	}
}
