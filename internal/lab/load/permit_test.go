package load_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"iocause/internal/lab/labtest"
	"iocause/internal/lab/load"
)

// Who opens a file waits for who has to allow it.
func TestPermit(t *testing.T) {
	labtest.Need(t, "fanotify")
	path := filepath.Join(t.TempDir(), "asked")
	if err := load.Create(path, 1<<20); err != nil {
		t.Fatal(err)
	}
	const opens, before, each = 31, 3, 20 * time.Millisecond // before: to see how long it is, what is cached, and to have it open
	asked := make(chan struct{})
	scanned := make(chan *load.Result, 1)
	go func() {
		r, err := load.Run(context.Background(), load.Spec{Kind: "permit", Path: path, Count: opens + before, Think: each}, func() { close(asked) })
		if err != nil {
			t.Error(err)
		}
		scanned <- r
	}()
	<-asked
	r, err := load.Run(context.Background(), load.Spec{Kind: "reopen", Path: path, Size: 1 << 20, Count: opens, Duration: time.Minute}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if s := <-scanned; s.Calls != opens+before || s.Bytes != 0 {
		t.Errorf("%d answers, %d bytes, want %d and none", s.Calls, s.Bytes, opens+before)
	}
	if least := opens * each.Seconds(); r.Calls != opens || r.Seconds < least {
		t.Errorf("%d opens took %g s, want %d in %g or more", r.Calls, r.Seconds, opens, least)
	}
}
