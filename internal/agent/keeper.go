package agent

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"
)

// keeper does what the watcher wants of the disk, in order and beside it: a disk
// that hangs keeps nobody from watching and telling. What fails is tried again.
type keeper struct {
	log  *slog.Logger
	wake chan struct{} // something is to be done
	done chan struct{} // something was tried

	mu   sync.Mutex
	jobs []job // oldest first
}

// job is something to be done on the disk.
type job struct {
	of    any    // a later job of the same takes its place while it waits
	fails string // what to say when it fails
	bytes int    // that it holds
	do    func() error

	said time.Time // that it fails
}

const (
	keepAgain   = time.Minute // after which what failed is tried again
	keepSaid    = time.Hour   // how often that is said
	mostWaiting = 16 << 20    // bytes: of more, the oldest are given up
)

func newKeeper(log *slog.Logger) *keeper {
	return &keeper{log: log, wake: make(chan struct{}, 1), done: make(chan struct{}, 1)}
}

// signal tells whoever waits for a channel of one place.
func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// put has something done, and does not wait for it.
func (k *keeper) put(j job) {
	k.mu.Lock()
	if at := k.at(j.of); at >= 0 {
		j.said = k.jobs[at].said
		k.jobs = slices.Delete(k.jobs, at, at+1)
	}
	k.jobs = append(k.jobs, j)
	k.makeRoom()
	k.mu.Unlock()
	signal(k.wake)
}

func (k *keeper) at(of any) int {
	return slices.IndexFunc(k.jobs, func(x job) bool { return x.of == of })
}

// makeRoom gives up the oldest of those that hold something, but not the newest.
func (k *keeper) makeRoom() {
	held := 0
	for _, x := range k.jobs {
		held += x.bytes
	}
	for i := 0; held > mostWaiting && i < len(k.jobs)-1; {
		if k.jobs[i].bytes == 0 {
			i++
			continue
		}
		k.log.Error(k.jobs[i].fails + "; it is dropped, because too much waits for the disk")
		held -= k.jobs[i].bytes
		k.jobs = slices.Delete(k.jobs, i, i+1)
	}
}

// run works until ctx ends, and then once more through what is left.
func (k *keeper) run(ctx context.Context) {
	for {
		var again <-chan time.Time
		if k.work(false) {
			again = time.After(keepAgain)
		}
		select {
		case <-ctx.Done():
			k.work(true)
			return
		case <-k.wake:
		case <-again:
		}
	}
}

// work does all that waits, for the last time or not, and tells whether some of
// it failed. It is used by one goroutine at a time.
func (k *keeper) work(last bool) (failed bool) {
	k.mu.Lock()
	jobs := k.jobs
	k.jobs = nil
	k.mu.Unlock()
	var left []job
	for _, j := range jobs {
		err := j.do()
		signal(k.done)
		switch {
		case err == nil:
			continue
		case last:
			k.log.Error(j.fails+"; it is lost", "why", err)
		case time.Since(j.said) > keepSaid:
			k.log.Error(j.fails+"; it will be retried", "why", err)
			j.said = time.Now()
		}
		left = append(left, j)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, j := range slices.Backward(left) {
		if k.at(j.of) < 0 { // else there is something newer
			k.jobs = slices.Insert(k.jobs, 0, j)
		}
	}
	k.makeRoom()
	return len(left) > 0
}

// readKept reads the JSON that an agent before this one has kept in a file; where
// there is none, it leaves into as it is.
func readKept(path string, into any) error {
	b, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(b, into)
}
