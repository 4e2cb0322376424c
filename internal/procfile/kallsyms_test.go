package procfile

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"iocause/internal/host"
)

func TestSymbols(t *testing.T) {
	var got []string
	for s, err := range Symbols(strings.NewReader("0000000000000000 A fixed_percpu_data\nffffffff81000000 T _text\nffffffff81000010 W weak.cold\nffffffff82000000 d data\nffffffffc0000010 t request_wait_answer\t[fuse]\n")) {
		got = append(got, fmt.Sprintf("%x %v %s %s %v", s.Start, s.Text, s.Name, s.Module, err))
	}
	want := []string{"ffffffff81000000 true _text  <nil>", "ffffffff81000010 true weak.cold  <nil>", "ffffffff82000000 false data  <nil>", "ffffffffc0000010 true request_wait_answer fuse <nil>"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%q, want %q", got, want)
	}
	for _, err := range Symbols(strings.NewReader("0000000000000000 T _text\n")) {
		if !errors.Is(err, ErrHidden) {
			t.Errorf("addresses of 0: %v", err)
		}
	}
	seen := 0
	for _, err := range Symbols(strings.NewReader("ffffffff81000000 T _text\nnothing\nffffffff81000010 t more\n")) {
		var line *host.LineError
		if seen++; seen == 2 && (!errors.As(err, &line) || line.Line != 2) {
			t.Errorf("%v, want an error of line 2", err)
		}
	}
	if seen != 2 {
		t.Errorf("%d symbols and errors, want 2", seen)
	}
}
