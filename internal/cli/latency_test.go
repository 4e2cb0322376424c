package cli

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/require"
	"iocause/internal/source/probe/threads"
)

// What a program reads while it is watched, as the command shows it.
func TestLatencyForReal(t *testing.T) {
	path := bpftest.File(t, 1)
	stop, stopped := make(chan struct{}), make(chan error)
	go func() {
		var err error
		for err == nil {
			select {
			case <-stop:
				stopped <- nil
				return
			case <-time.After(20 * time.Millisecond):
				err = exec.Command("cat", path).Run()
			}
		}
		<-stop
		stopped <- err
	}()
	code, out, notes := runApp(t.Context(), nil, "latency", "1.2", "1", "--format", "json", "--top", "0", "--comm", "cat")
	close(stop)
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if code != exitWell {
		bpftest.Need(t, "bpf", errors.New(notes))
	}
	var doc struct {
		Calls struct{ Rows []map[string]any }
	}
	require.NoError(t, json.Unmarshal([]byte(out), &doc))
	reads := 0.0
	for _, row := range doc.Calls.Rows {
		sum := 0.0
		for p := threads.PartCPU; p < threads.Parts; p++ {
			sum += row[p.Key()+"_s"].(float64)
		}
		if wall := row["wall_s"].(float64); math.Abs(sum-wall) > 1e-9 {
			t.Errorf("%v: the parts add up to %g, it took %g", row["syscall"], sum, wall)
		}
		if row["syscall"] == "read" {
			reads += row["calls"].(float64)
		}
	}
	if reads < 5 {
		t.Errorf("%g reads in %d rows: %s", reads, len(doc.Calls.Rows), notes)
	}
}

// readInAKnownFunction reads a byte from a pipe that gets it later.
//
//go:noinline
func readInAKnownFunction(fd int) error {
	var b [1]byte
	_, err := unix.Read(fd, b[:])
	return err
}

// readSlowly has a thread wait for 12 ms in each of its reads, until it is told
// to stop.
func readSlowly(t *testing.T) (stop func()) {
	t.Helper()
	var pipe [2]int
	require.NoError(t, unix.Pipe(pipe[:]))
	stopped := make(chan error)
	over, silence := make(chan struct{}), make(chan struct{})
	go func() {
		var err error
		for err == nil {
			err = readInAKnownFunction(pipe[0])
			select {
			case <-over:
				stopped <- err
				return
			default:
			}
		}
		<-over
		stopped <- err
	}()
	silent := make(chan struct{})
	go func() {
		defer close(silent)
		for {
			time.Sleep(12 * time.Millisecond)
			select {
			case <-silence:
				return
			default:
			}
			if _, err := unix.Write(pipe[1], []byte{1}); err != nil {
				return
			}
		}
	}()
	return func() {
		close(over)
		if err := <-stopped; err != nil {
			t.Error(err)
		}
		close(silence)
		<-silent // else it would write into what gets its number next
		unix.Close(pipe[0])
		unix.Close(pipe[1])
	}
}

// Slow reads of this process, as another one shows them.
func TestLatencyNamesSlowCalls(t *testing.T) {
	stop := readSlowly(t)
	args := []string{"latency", "0.5", "1", "--pid", strconv.Itoa(os.Getpid()), "--syscall", "read", "--slow", "5ms"}
	code, out, notes := run{args: append(args, "--format", "json")}.do(t)
	if code == 1 && strings.Contains(notes, refusal) {
		bpftest.Need(t, "bpf", errors.New(notes))
	}
	_, table, _ := run{args: args}.do(t)
	_, none, _ := run{args: append(args, "--slow", "1h")}.do(t)
	stop()
	var doc struct {
		Slowest struct{ Rows []map[string]any }
	}
	if err := json.Unmarshal([]byte(out), &doc); code != 0 || err != nil {
		t.Fatalf("code %d, %v: %s", code, err, notes)
	}
	if len(doc.Slowest.Rows) != threads.Kept {
		t.Errorf("%d slow calls, want %d: %s", len(doc.Slowest.Rows), threads.Kept, out)
	}
	for _, row := range doc.Slowest.Rows {
		stack := row["stack"].(string)
		inside, outside, named := strings.Cut(stack, " < iocause/internal/cli.readInAKnownFunction < ")
		if !named || !strings.Contains(inside, "pipe_read < ") || strings.Contains(stack, "[") || !strings.HasPrefix(outside, "iocause/internal/cli.readSlowly") {
			t.Errorf("the stack is %s", stack)
		}
		if wall := row["wall_s"].(float64); wall < 0.01 || row["syscall"] != "read" || row["result"] != 1.0 ||
			row["wait_state"] != "ipc" && row["wait_state"] != "runnable" { // on a busy machine the processor is waited for longer
			t.Errorf("%v", row)
		}
	}
	for _, want := range []string{"The slowest calls", " read [one wait of ", "\n" + strings.Repeat(" ", 20), "iocause/internal/cli.readInAKnownFunction\n"} {
		if !strings.Contains(table, want) {
			t.Errorf("%q is missing in\n%s", want, table)
		}
	}
	if !strings.Contains(none, "read") || strings.Contains(none, "slowest") {
		t.Errorf("no call takes an hour:\n%s", none)
	}
}
