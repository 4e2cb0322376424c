package incident

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

// Kinds are taken by their turns, one hands the victim to the next, and what
// fails costs itself alone.
func TestGather(t *testing.T) {
	var victims []string
	kind := func(section string, turn int, take func(*Gathering) error) Kind {
		return Kind{Section: section, Type: TypeJSON, Turn: turn, Watches: true, Observe: func(_ context.Context, l *Gathering) ([]byte, error) {
			victims = append(victims, section+" "+l.Victim)
			if l.Length != LongestWatch {
				t.Errorf("%s watches for %v", section, l.Length)
			}
			return []byte(section), take(l)
		}}
	}
	well := func(*Gathering) error { return nil }
	kinds := []Kind{
		{Section: SectionRecording},
		kind("last", 3, well),
		kind("fails", 2, func(*Gathering) error { return errors.New("no room") }),
		kind("first", 1, func(l *Gathering) error { l.Victim = "db"; return nil }),
	}
	sections, notes := Gather(t.Context(), kinds, Gathering{Length: time.Minute})
	if want := []string{"first ", "fails db", "last db"}; !slices.Equal(victims, want) {
		t.Errorf("observed %q, want %q", victims, want)
	}
	if len(sections) != 2 || sections[0].Name != "first" || string(sections[1].Data) != "last" || sections[1].Type != TypeJSON {
		t.Errorf("%+v", sections)
	}
	if len(notes) != 1 || notes[0] != "fails: no room" {
		t.Errorf("notes %q", notes)
	}
	if n := Watching(kinds, time.Minute); n != 3*LongestWatch {
		t.Errorf("%d watch", n)
	}

	stopped, stop := context.WithCancel(t.Context())
	stop()
	sections, notes = Gather(stopped, kinds, Gathering{Length: time.Second})
	if len(sections) != 0 || len(notes) != 3 || !strings.Contains(notes[0], "interrupted before that") {
		t.Errorf("stopped: %+v, %q", sections, notes)
	}
}
