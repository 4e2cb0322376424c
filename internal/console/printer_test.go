package console

import (
	"slices"
	"strings"
	"testing"

	"iocause/internal/require"
)

// A terminal obeys no name in CSV, and quotes stand as CSV has them.
func TestCSVIsHarmless(t *testing.T) {
	var b strings.Builder
	row := []string{"a\x1b]0;x\a.txt", "b\u009bm", "c,\"d\"", "é"}
	require.NoError(t, WriteCSV(&b, []string{"w", "x", "y", "z"}, slices.Values([][]string{row})))
	if want := "w,x,y,z\n" + `a\x1b]0;x\x07.txt,b\u009bm,"c,""d""",é` + "\n"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
	if row[0] != "a\x1b]0;x\a.txt" {
		t.Error("the row is changed for the caller, too")
	}
}
