// Package advice keeps what was advised, with what it was predicted to give, what
// was changed then, and what came of it.
package advice

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"iocause/internal/store/whole"
)

// Entry is one advice.
type Entry struct {
	Number    int       `json:"number"`
	Given     time.Time `json:"given"`
	Incident  int       `json:"incident,omitempty"`  // in which the agent found the cause
	Situation uint64    `json:"situation,omitempty"` // of the lab, where it was given
	Scenario  string    `json:"scenario,omitempty"`  // likewise
	Program   string    `json:"program"`             // that was held up
	Cause     string    `json:"cause"`
	Do        string    `json:"do"`
	Expect    string    `json:"expect"`
	Low       float64   `json:"expect_low"`      // by how many times as much the program does then, at least; 0: not known
	High      float64   `json:"expect_high"`     // at most; 0: not known
	Saves     *Saved    `json:"saves,omitempty"` // what it saves; absent: not known
	Changes   []Change  `json:"changes"`         // empty: nothing was seen to change
	Outcome   *Outcome  `json:"outcome"`         // null: not measured yet

	// Settings are what is watched, as it was, by file; left out once it was measured.
	Settings map[string]string `json:"settings,omitempty"`
	Tries    int               `json:"tries,omitempty"` // to measure it
}

// Saved is a share that is saved, with its interval.
type Saved struct {
	Value float64 `json:"value"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
	Of    string  `json:"of"` // what it is a share of: disk reads
}

// Change is a setting that was changed.
type Change struct {
	At   time.Time `json:"at"` // when it was seen
	What string    `json:"what"`
	From string    `json:"from"`
	To   string    `json:"to"`
}

// Outcome is what came of it.
type Outcome struct {
	At     time.Time `json:"at"`
	Result string    `json:"result"`          // as iocause verify says it: helped, in part, gone, unchanged, worse, cannot tell
	Factor *float64  `json:"factor"`          // how many times as much work it does; null where not known
	Saved  *float64  `json:"saved,omitempty"` // share that was saved of what Saves is about, for each call; absent: not measured
	Notes  []string  `json:"notes"`
}

// Error is how far the outcome is outside of what was predicted: 0 within, 0.2 for a
// fifth more than the most, -0.2 for a fifth less than the least (Least); where no speed was
// predicted but what is saved, in shares of that. ok is false where nothing was predicted
// or measured.
func (e *Entry) Error() (off float64, ok bool) {
	if s, o := e.Saves, e.Outcome; e.Low+e.High == 0 && s != nil && o != nil && o.Saved != nil {
		return min(0, *o.Saved-s.Low) + max(0, *o.Saved-s.High), true
	}
	if e.Outcome == nil || e.Outcome.Factor == nil || e.Low+e.High == 0 {
		return 0, false
	}
	switch f, least := *e.Outcome.Factor, e.Least(); {
	case f < least:
		return f/least - 1, true
	case e.High > 0 && f > e.High:
		return f/e.High - 1, true
	}
	return 0, true
}

// Ledger is all that is kept, oldest first.
type Ledger struct {
	Version int     `json:"version"`
	Entries []Entry `json:"advice"`
}

const (
	file     = "advice"
	version  = 1
	most     = 200     // entries
	mostSize = 4 << 20 // bytes of a file that are believed
)

// ErrNone is a folder in which no advice was kept.
var ErrNone = errors.New("no advice was kept there")

// Load reads the ledger of a folder.
func Load(dir string) (*Ledger, error) {
	f, err := os.Open(filepath.Join(dir, file))
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("reading the advice in %q: %w", dir, ErrNone)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the advice: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, mostSize+1))
	if err != nil {
		return nil, fmt.Errorf("reading the advice in %q: %w", f.Name(), err)
	}
	l := &Ledger{}
	if err := json.Unmarshal(b, l); err != nil || len(b) > mostSize || l.Version != version {
		return nil, fmt.Errorf("reading the advice in %q: it is damaged, or of another version of iocause; move it away to begin a new one", f.Name())
	}
	return l, nil
}

// Begun is the ledger of a folder, a new one where none is there; dir may be "".
func Begun(dir string) (*Ledger, error) {
	if dir == "" {
		return &Ledger{}, nil
	}
	l, err := Load(dir)
	if errors.Is(err, ErrNone) {
		return &Ledger{}, nil
	}
	return l, err
}

// Keep adds an entry, and saves the ledger in a folder unless that is "".
func (l *Ledger) Keep(dir string, e Entry) error {
	l.Add(e)
	if dir == "" {
		return nil
	}
	b, err := l.Bytes()
	if err != nil {
		return err
	}
	return Save(dir, b)
}

// Add adds an entry, gives it a number, and forgets the oldest of too many.
func (l *Ledger) Add(e Entry) {
	e.Number = 1
	if n := len(l.Entries); n > 0 {
		e.Number = l.Entries[n-1].Number + 1
	}
	if e.Changes == nil {
		e.Changes = []Change{}
	}
	l.Entries = append(l.Entries, e)
	if over := len(l.Entries) - most; over > 0 {
		l.Entries = append([]Entry(nil), l.Entries[over:]...)
	}
}

// Bytes is the file of a ledger.
func (l *Ledger) Bytes() ([]byte, error) {
	l.Version = version
	b, err := json.MarshalIndent(l, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("writing the advice: %w", err)
	}
	return append(b, '\n'), nil
}

// Save puts such a file in the place of the one that a folder has: whole, or not at
// all.
func Save(dir string, b []byte) error {
	if err := whole.Write(filepath.Join(dir, file), 0o600, whole.Bytes(b)); err != nil {
		return fmt.Errorf("keeping the advice: %w", err)
	}
	return nil
}
