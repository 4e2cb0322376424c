package perfscript

import (
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"

	"iocause/internal/require"
)

// TestNamesOnly reads texts with and without modules: by name, all is the same.
func TestNamesOnly(t *testing.T) {
	recorded, err := os.ReadFile("testdata/cpu-clock.script")
	require.NoError(t, err)
	switches, err := os.ReadFile("testdata/mmap-lock.script")
	require.NoError(t, err)
	const same = "sh 7 1.5: 3 cycles:\n\t1 f+0x1 (/lib/a.so)\n\t2 [unknown] (/lib/a.so)\n\nsh 7 1.6: 4 cycles:\n\t3 f+0x1 (/lib/b.so)\n\t4 [unknown] (/lib/a.so)\n\n" +
		"sh 7 1.7: 5 cycles:\n\t3 f (/lib/b.so)\n\t4 [unknown] (/lib/b.so)\n\n"
	for _, text := range []string{twoEvents, string(recorded), string(switches), same} {
		sums := func(namesOnly bool) map[string]int64 {
			all := map[string]int64{}
			p := read(t, text, Options{NamesOnly: namesOnly}).Profile
			for i := range p.Stacks {
				line := p.Stacks[i].Process + "|" + p.Stacks[i].State
				for _, f := range p.Stacks[i].Frames {
					line += ";" + f.Name
				}
				all[line] += p.Weight(&p.Stacks[i])
			}
			return all
		}
		if whole, names := sums(false), sums(true); !maps.Equal(whole, names) {
			t.Errorf("with modules %v, without %v", whole, names)
		}
	}
	if got := read(t, same, Options{NamesOnly: true}).Profile; len(got.Stacks) != 2 || got.Stacks[0].Frames[1].Module != "" {
		t.Errorf("stacks %+v, want two of functions without modules", got.Stacks)
	}
}

// TestManyFunctions reads more functions than the first table has room for, more lines
// than are known as the last ones, and a stack of more lines than are looked up at once,
// each line again and again with another address and offset: so many that they are not
// looked for among the last ones any more, and then once more.
func TestManyFunctions(t *testing.T) {
	const functions, deep, rounds = 20_000, 3*mostWaiting + 1, (blindLines+2*recentLines)/20_000 + 1
	var in strings.Builder
	var want [][]string
	at := 0
	for round := range rounds {
		for from := 0; from < functions; from += deep {
			fmt.Fprint(&in, "sh 7 [000] 1.5: 1 cpu-clock:\n")
			var stack []string
			for f := from; f < min(from+deep, functions); f++ {
				at++
				fmt.Fprintf(&in, "\t%x f%d+0x%x (/lib/l%d.so)\n", at, f/2, at, f%2)
				stack = append([]string{fmt.Sprintf("f%d l%d.so", f/2, f%2)}, stack...)
			}
			in.WriteByte('\n')
			if round == 0 {
				want = append(want, stack)
			}
		}
	}
	res, err := Read(strings.NewReader(in.String()), Options{Name: "x"})
	require.NoError(t, err)
	if len(res.Profile.Stacks) != len(want) || res.Unknown != 0 {
		t.Fatalf("%d stacks of %d, %d lines unknown", len(res.Profile.Stacks), len(want), res.Unknown)
	}
	for i, s := range res.Profile.Stacks {
		if s.Count != rounds || len(s.Frames) != len(want[i]) {
			t.Fatalf("stack %d: %d times, %d functions of %d", i, s.Count, len(s.Frames), len(want[i]))
		}
		for j, f := range s.Frames {
			if got := f.Name + " " + f.Module; got != want[i][j] {
				t.Fatalf("stack %d: function %d is %s, not %s", i, j, got, want[i][j])
			}
		}
	}
}
