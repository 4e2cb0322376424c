package session

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// count tells a line every 50 ms for five seconds.
func count(l *Line, tell func(func() string)) (asked int) {
	for n := range 100 {
		tell(func() string { asked++; return fmt.Sprintf("%d done", n) })
		time.Sleep(50 * time.Millisecond)
	}
	l.Erase()
	l.Erase()
	return asked
}

func TestLineInPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var to strings.Builder
		l := &Line{To: &to, InPlace: true, Fit: func(s string) string { return s[:4] }, After: 2 * time.Second, Every: time.Second}
		asked := count(l, l.Draw)
		if want := "\r\x1b[K40 d\r\x1b[K60 d\r\x1b[K80 d\r\x1b[K"; to.String() != want || asked != 3 {
			t.Errorf("%q, asked %d times; want %q", to.String(), asked, want)
		}
		l.Draw(func() string { return "drawn" })
		to.Reset()
		l.Say("said")
		if want := "\r\x1b[Kiocause: said\n"; to.String() != want {
			t.Errorf("%q, want %q", to.String(), want)
		}
	})
}

func TestLineElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var to strings.Builder
		l := &Line{To: &to, After: 2 * time.Second, Every: time.Second}
		if asked := count(l, l.Draw); to.String() != "" || asked != 0 {
			t.Errorf("%q, asked %d times", to.String(), asked)
		}
		asked := count(l, l.Tell)
		if want := "iocause: 40 done · Ctrl-C ends it\n"; to.String() != want || asked != 1 {
			t.Errorf("%q, asked %d times; want %q", to.String(), asked, want)
		}
	})
}
