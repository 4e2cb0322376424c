package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"iocause/internal/cli"
	"iocause/internal/require"
)

var update = flag.Bool("update", false, "write the golden outputs anew")

// goldenIn has a recording of a host, two of a command, and the folder of an
// agent with an incident, and below out what the commands said of them when
// they were made.
const goldenIn = "internal/cli/testdata/golden"

// Every command that answers from a file says what it said before. After a
// change that is meant, 'go test -run TestGolden . -update' writes it anew.
func TestGolden(t *testing.T) {
	here, err := os.Getwd()
	require.NoError(t, err)
	dir := t.TempDir() // readers of series make files beside them
	for _, name := range []string{"host.iocause", "a.iocause", "b.iocause"} {
		copyFile(t, filepath.Join(goldenIn, name), filepath.Join(dir, name))
	}
	require.NoError(t, os.CopyFS(filepath.Join(dir, "agent"), os.DirFS(filepath.Join(goldenIn, "agent"))))
	require.NoError(t, os.CopyFS(filepath.Join(dir, "texts"), os.DirFS("internal/cli/testdata/read")))
	t.Chdir(dir)
	zone := time.Local
	time.Local = time.UTC
	t.Cleanup(func() { time.Local = zone })
	for _, g := range append(goldenGroups(), helps(t)) {
		t.Run(g.name, func(t *testing.T) {
			var got bytes.Buffer
			for _, line := range g.lines {
				said(&got, line)
			}
			compareGolden(t, filepath.Join(here, goldenIn, "out", g.name), got.Bytes())
		})
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, b, 0o600)
	}
	require.NoError(t, err)
}

// said writes a command line, its exit code and all that it says. The words of
// a line are parted by blanks; _ in one stands for a blank.
func said(to io.Writer, line string) (stdout string) {
	var out, notes bytes.Buffer
	words := strings.Fields(line)
	for i := range words {
		if strings.Contains(words[i], "_ago") || strings.Contains(words[i], "23_") {
			words[i] = strings.ReplaceAll(words[i], "_", " ")
		}
	}
	code := cli.Run(context.Background(), words, strings.NewReader(""), &out, &notes)
	fmt.Fprintf(to, "\n>>> iocause %s\n", line)
	if code != 0 {
		fmt.Fprintf(to, "[exit code %d]\n", code)
	}
	if notes.Len() > 0 {
		fmt.Fprintf(to, "[stderr]\n%s[stdout]\n", &notes)
	}
	io.WriteString(to, steady(out.String(), line))
	return out.String()
}

var (
	longNumber = regexp.MustCompile(`\d+\.\d{9,}(e[-+]\d+)?`)
	ownCost    = regexp.MustCompile(`(?m)^Cost .*$|"(cpu_seconds|rss_bytes)": .*`)
)

// steady is what was said without what differs from run to run: the last digits
// of sums, and what it cost to read a text.
func steady(said, line string) string {
	if strings.Contains(line, "texts/") {
		said = ownCost.ReplaceAllString(said, "[cost]")
	}
	return longNumber.ReplaceAllStringFunc(said, func(s string) string {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return s
		}
		return strconv.FormatFloat(v, 'g', 9, 64)
	})
}

// compareGolden compares with a file of this name, or one that is packed.
func compareGolden(t *testing.T, name string, got []byte) {
	t.Helper()
	const mostPlain = 12 << 10
	packed := name + ".txt.gz"
	name += ".txt"
	if *update {
		writeGolden(t, name, packed, got, len(got) > mostPlain)
		return
	}
	want, err := os.ReadFile(name)
	if os.IsNotExist(err) {
		want, err = unpacked(packed)
	}
	require.NoError(t, err)
	if bytes.Equal(got, want) {
		return
	}
	was, is := strings.Split(string(want), "\n"), strings.Split(string(got), "\n")
	at, command := 0, ""
	for at < min(len(was), len(is)) && was[at] == is[at] {
		if strings.HasPrefix(was[at], ">>>") {
			command = was[at]
		}
		at++
	}
	part := func(lines []string) string { return strings.Join(lines[at:min(at+6, len(lines))], "\n") }
	t.Errorf("%s\nfrom line %d on it was:\n%s\nand is:\n%s", command, at+1, part(was), part(is))
}

func writeGolden(t *testing.T, name, packed string, got []byte, pack bool) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
	old, other := name, packed
	if pack {
		old, other = packed, name
		var b bytes.Buffer
		w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
		require.NoError(t, err)
		w.Write(got)
		require.NoError(t, w.Close())
		got = b.Bytes()
	}
	if err := os.Remove(other); err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	require.NoError(t, os.WriteFile(old, got, 0o644))
}

func unpacked(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}

// helps is the help of all commands, and of those below them.
func helps(t *testing.T) group {
	t.Helper()
	g := group{name: "help"}
	var walk func(path string)
	walk = func(path string) {
		line := strings.TrimSpace(path + " --help")
		g.lines = append(g.lines, line)
		_, lists, _ := strings.Cut(said(io.Discard, line), " COMMAND\n\n")
		lists, _, _ = strings.Cut(lists, "\nFlags:\n")
		for l := range strings.Lines(lists) {
			name, isCommand := strings.CutPrefix(l, "  ") // else a head
			if name, _, _ = strings.Cut(name, " "); isCommand && name != "help" {
				walk(strings.TrimSpace(path + " " + name))
			}
		}
	}
	walk("")
	if len(g.lines) < 30 {
		t.Errorf("only %d commands were found", len(g.lines))
	}
	return g
}
