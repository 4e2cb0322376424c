package agent

import (
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"iocause/internal/require"
)

// What waits is done in order, the newest of a thing in place of those before;
// what fails is done later, unless there is something newer of it.
func TestKeeper(t *testing.T) {
	var log require.Output
	k := newKeeper(slog.New(slog.NewTextHandler(&log, nil)))
	var did []string
	full := true
	do := func(what string) func() error {
		return func() error {
			if full {
				return errors.New("the disk is full")
			}
			did = append(did, what)
			return nil
		}
	}
	k.put(job{of: "a", do: do("a1")})
	k.put(job{of: "b", do: do("b1")})
	k.put(job{of: "c", do: do("c1")})
	k.put(job{of: "a", do: do("a2")})
	for range 2 { // what fails is said once
		if !k.work(false) || len(did) != 0 || strings.Count(log.String(), "it will be retried") != 3 {
			t.Fatalf("did %v, said %s", did, log.String())
		}
	}
	k.put(job{of: "b", do: do("b2")})
	full = false
	if k.work(false) || !slices.Equal(did, []string{"c1", "a2", "b2"}) || strings.Count(log.String(), "it will be retried") != 3 {
		t.Errorf("did %v", did)
	}
	if k.work(false) || len(did) != 3 {
		t.Errorf("did %v", did)
	}
	full = true
	k.put(job{of: "a", fails: "a cannot be kept", do: do("a3")})
	if !k.work(true) || !strings.Contains(log.String(), "a cannot be kept; it is lost") {
		t.Errorf("said %s", log.String())
	}
}

// What fails while something newer of it comes is not done after that.
func TestKeeperDropsTheOlder(t *testing.T) {
	k := newKeeper(slog.New(slog.DiscardHandler))
	var did []string
	k.put(job{of: "a", do: func() error {
		k.put(job{of: "a", do: func() error { did = append(did, "newer"); return nil }})
		return errors.New("the disk is full")
	}})
	if !k.work(false) || k.work(false) || !slices.Equal(did, []string{"newer"}) {
		t.Errorf("did %v", did)
	}
}

// A disk that takes nothing does not fill the memory: the oldest is given up,
// and that is said; the newest stays whatever it takes.
func TestKeeperGivesUp(t *testing.T) {
	var log require.Output
	k := newKeeper(slog.New(slog.NewTextHandler(&log, nil)))
	var did []string
	put := func(what string, bytes int) {
		k.put(job{of: what, fails: what + " cannot be kept", bytes: bytes, do: func() error { did = append(did, what); return nil }})
	}
	put("small", 0)
	put("first", mostWaiting/2)
	put("second", mostWaiting/2)
	put("third", mostWaiting/2)
	put("first", mostWaiting/2) // given up before, and newer now
	if got := log.String(); strings.Count(got, "it is dropped") != 2 || !strings.Contains(got, "first cannot be kept") || !strings.Contains(got, "second cannot be kept") {
		t.Errorf("said %s", got)
	}
	put("large", mostWaiting+1)
	if k.work(false) || !slices.Equal(did, []string{"small", "large"}) || strings.Count(log.String(), "it is dropped") != 4 {
		t.Errorf("did %v, said %s", did, log.String())
	}
}
