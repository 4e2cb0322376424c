package cli

import (
	"bytes"
	"strings"
	"testing"

	"iocause/internal/host"
)

// A request that is queued on one processor ends on another: the files of one
// trace are read as one.
func TestReadBlktrace(t *testing.T) {
	const dir = "../parse/blktrace/testdata/loop.blktrace."
	run := func(args ...string) string {
		var stdout, stderr bytes.Buffer
		a := &env{streams: streams{stdin: strings.NewReader(""), stdout: &stdout, stderr: &stderr}, host: host.Live()}
		if code := runLine(t.Context(), a, append([]string{"read", "--series"}, args...)); code != 0 {
			t.Fatalf("code %d: %s", code, &stderr)
		}
		return stdout.String()
	}
	got := run(dir+"1", dir+"0")
	for _, want := range []string{",disk.reads,count,7:0,,,60\n", ",disk.write_bytes,bytes,7:0,,,2.62144e+06\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
	if got = run(dir + "0"); strings.Contains(got, ",disk.reads,count,7:0,,,60\n") {
		t.Errorf("one processor knows all reads:\n%s", got)
	}
}
