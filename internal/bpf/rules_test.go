package bpf

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/host"
	"iocause/internal/procfile"
)

const symbols = `ffffffff81000000 T _text
ffffffff81812bf0 t start_this_handle.cold
ffffffff81812c10 t __pfx_other
ffffffff8181e950 T jbd2_log_wait_commit
ffffffff8181ea40 D jbd2_log_wait_commit_data
ffffffff821faf40 t __mutex_lock.constprop.0
ffffffff821fb000 t afterwards
ffffffff821fb000 t jbd2_log_wait
ffffffffc0000010 t request_wait_answer	[fuse]
`

var classes = map[string]uint32{"start_this_handle": 2, "jbd2_log_wait_commit": 2, "request_wait_answer": 2, "__mutex_lock": 3, "absent": 4}

func TestParseRules(t *testing.T) {
	rules, err := rulesOf(procfile.Symbols(strings.NewReader(symbols)), classes)
	if err != nil {
		t.Fatal(err)
	}
	want := []Rule{
		{Start: 0xffffffff81812bf0, End: 0xffffffff81812c10, Class: 2},
		{Start: 0xffffffff8181e950, End: 0xffffffff8181ea40, Class: 2},
		{Start: 0xffffffff821faf40, End: 0xffffffff821fb000, Class: 3},
		{Start: 0xffffffffc0000010, End: 0xffffffffc0001010, Class: 2},
	}
	if fmt.Sprint(rules) != fmt.Sprint(want) {
		t.Errorf("rules\n%x, want\n%x", rules, want)
	}
}

// Names of one function end where the function does, whatever the order of lines.
func TestParseRulesOfOneAddress(t *testing.T) {
	rules, err := rulesOf(procfile.Symbols(strings.NewReader("ffffffff81000300 t behind\nffffffff81000100 T absent\nffffffff81000100 T start_this_handle\n"+
		"ffffffff81000200 t next\nffffffff81000050 t __mutex_lock\n")), classes)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range rules {
		got = append(got, fmt.Sprintf("%x-%x", r.Start&0xfff, r.End&0xfff))
	}
	if want := "[50-100 100-200 100-200]"; fmt.Sprint(got) != want {
		t.Errorf("%v, want %s", got, want)
	}
}

func TestParseRulesThatAreHiddenOrBroken(t *testing.T) {
	if _, err := rulesOf(procfile.Symbols(strings.NewReader("0000000000000000 T _text\n0000000000000000 T jbd2_log_wait_commit\n")), classes); !errors.Is(err, procfile.ErrHidden) {
		t.Errorf("hidden addresses: %v", err)
	}
	for _, broken := range []string{"x", "ffffffff81000000 T", "ffffffff81000000", "fffffffff81000000f T _text", "12 TT a"} {
		var line *host.LineError
		if _, err := rulesOf(procfile.Symbols(strings.NewReader(symbols+broken+"\n")), classes); !errors.As(err, &line) || line.Line != 10 {
			t.Errorf("%q: %v", broken, err)
		}
	}
}

func FuzzParseRules(f *testing.F) {
	f.Add(symbols)
	f.Fuzz(func(t *testing.T, s string) {
		rules, err := rulesOf(procfile.Symbols(strings.NewReader(s)), classes)
		if err != nil {
			return
		}
		for i, r := range rules {
			if r.End <= r.Start && r.Start < 1<<64-1<<12 || i > 0 && r.Start < rules[i-1].Start {
				t.Errorf("rules %x", rules)
			}
		}
	})
}

// The kernel's iterator over its symbols and /proc/kallsyms say the same.
func TestRulesByIterator(t *testing.T) {
	types, err := LoadTypes()
	bpftest.Need(t, "bpf", err) // no types, no programs
	if !types.hasStruct("bpf_iter__ksym") {
		t.Skip("no iterator over symbols in this kernel (before 6.0)")
	}
	bpftest.Need(t, "bpf", permitted())
	classes := map[string]uint32{"__mutex_lock": 1, "io_schedule": 2, "schedule_timeout": 3, "balance_dirty_pages": 4, "folio_wait_bit_common": 5, "__down": 7, "no_such_function": 6}
	symbols, err := symbolsLike(types, maps.Keys(classes))
	if err != nil {
		t.Fatal(err)
	}
	got, err := rulesOf(symbols, classes)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open("/proc/kallsyms")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	want, err := rulesOf(procfile.Symbols(f), classes)
	if err != nil {
		t.Fatal(err)
	}
	if len(want) < 5 || fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("by the iterator\n%x, in /proc/kallsyms\n%x", got, want)
	}
}
