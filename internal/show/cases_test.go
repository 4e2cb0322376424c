package show

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"iocause/internal/diagnose"
	"iocause/internal/parse"
	"iocause/internal/present/text"
	"iocause/internal/require"
	"iocause/internal/sample"
	"iocause/internal/tool/read"
)

// Where the locale has no UTF-8, the names of files that were read are ASCII, too.
func TestCasesInASCII(t *testing.T) {
	r := sample.NewRecorder(time.Unix(0, 0))
	c := read.Case{Report: &diagnose.Report{}, Case: &parse.Case{Window: r.Window(time.Unix(1, 0)),
		Blocks: []*parse.Block{{Tool: "free", File: strings.Repeat("é", 60) + ".txt", First: 1, Last: 2}}}}
	var out bytes.Buffer
	require.NoError(t, Cases(&out, []read.Case{c}, 0, text.Style{ASCII: true, Width: 80}))
	if i := strings.IndexFunc(out.String(), func(r rune) bool { return r >= 0x80 }); i >= 0 || !strings.Contains(out.String(), "READ: free") {
		t.Errorf("%q", out.String())
	}
}
