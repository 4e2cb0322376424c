package cli

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"iocause/internal/console"
	"iocause/internal/host"
	"iocause/internal/present/text"
	"iocause/internal/require"
	"iocause/internal/sample"
	"iocause/internal/source"
)

// terminal is a pseudo terminal: what is written to the first file appears on
// the second.
func terminal(t *testing.T, columns uint16) (tty, screen *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { screen.Close() })
	require.NoError(t, unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(screen.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { tty.Close() })
	require.NoError(t, unix.IoctlSetWinsize(int(tty.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: columns, Row: 24}))
	return tty, screen
}

func TestStyleOfStreams(t *testing.T) {
	env := func(pairs ...string) func(string) string {
		return func(name string) string {
			for _, p := range pairs {
				if v, ok := strings.CutPrefix(p, name+"="); ok {
					return v
				}
			}
			return ""
		}
	}
	narrow, _ := terminal(t, 57)
	wide, _ := terminal(t, 300)
	file, err := os.Create(t.TempDir() + "/file")
	require.NoError(t, err)
	defer file.Close()
	for _, c := range []struct {
		what   string
		stream any
		env    func(string) string
		want   text.Style
	}{
		{"a buffer", &strings.Builder{}, env(), text.Style{Width: 80}},
		{"a file", file, env(), text.Style{Width: 80}},
		{"a terminal", narrow, env("TERM=xterm"), text.Style{Width: 57, Color: true}},
		{"a wide terminal", wide, env("TERM=xterm"), text.Style{Width: 120, Color: true}},
		{"NO_COLOR", narrow, env("TERM=xterm", "NO_COLOR=1"), text.Style{Width: 57}},
		{"an empty NO_COLOR", narrow, env("TERM=xterm", "NO_COLOR="), text.Style{Width: 57, Color: true}},
		{"a dumb terminal", narrow, env("TERM=dumb"), text.Style{Width: 57}},
	} {
		if got := console.Style(c.stream, c.env, console.WidestText); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.what, got, c.want)
		}
	}
}

// On a terminal the progress is one line, never wider than that, which is
// gone when the report comes.
func TestProgressOnATerminal(t *testing.T) {
	t.Setenv("TERM", "xterm")
	tty, screen := terminal(t, 30)
	var shown require.Output
	go func() {
		buf := make([]byte, 4096)
		for {
			n, err := screen.Read(buf)
			if err != nil {
				return
			}
			if _, err := shown.Write(buf[:n]); err != nil {
				return
			}
		}
	}()
	var out require.Output
	a := &env{streams: streams{stdin: strings.NewReader(""), stdout: &out, stderr: tty}, host: host.Live(), sources: []source.Entry{working("calm", sample.WaitIO)}}
	if code := runLine(t.Context(), a, []string{"--duration", "700ms"}); code != 0 {
		t.Errorf("code %d", code)
	}
	const erase = "\r\x1b[K"
	for deadline := time.Now().Add(20 * time.Second); !strings.HasSuffix(shown.String(), erase) && time.Now().Before(deadline); {
		time.Sleep(5 * time.Millisecond)
	}
	got := shown.String()
	lines := strings.Split(got, erase)
	if len(lines) < 4 || lines[0] != "" || lines[len(lines)-1] != "" || strings.Contains(got, "\n") {
		t.Fatalf("stderr %q", got)
	}
	for _, line := range lines[1 : len(lines)-1] {
		if text.Width(line) > 29 || !regexp.MustCompile(`^observing 0\.\d of 700 ms`).MatchString(line) {
			t.Errorf("line %q", line)
		}
	}
}
