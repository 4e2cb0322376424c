package perfscript

import (
	"fmt"
	"strings"
	"testing"

	"iocause/internal/require"
)

// TestManyFunctions reads more functions than the first table has room for, more lines
// than are known as the last ones, and a stack of more lines than are looked up at once,
// each line twice with another address and offset.
func TestManyFunctions(t *testing.T) {
	const functions, deep = 20_000, 3*mostWaiting + 1
	var in strings.Builder
	var want [][]string
	at := 0
	for round := range 2 {
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
		if s.Count != 2 || len(s.Frames) != len(want[i]) {
			t.Fatalf("stack %d: %d times, %d functions of %d", i, s.Count, len(s.Frames), len(want[i]))
		}
		for j, f := range s.Frames {
			if got := f.Name + " " + f.Module; got != want[i][j] {
				t.Fatalf("stack %d: function %d is %s, not %s", i, j, got, want[i][j])
			}
		}
	}
}
