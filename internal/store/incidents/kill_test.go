package incidents

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"testing"
	"time"

	"iocause/internal/require"
)

// saveInto makes the test binary save an incident into this folder over and
// over, until it is killed.
const saveInto = "IOCAUSE_TEST_SAVE_INTO"

func TestMain(m *testing.M) {
	if dir := os.Getenv(saveInto); dir != "" {
		for x := an(); ; x.Meta.What.Samples++ {
			if err := Save(dir, x); err != nil {
				panic(err)
			}
			if x.Meta.What.Samples == an().Meta.What.Samples {
				os.Stdout.WriteString("saved\n")
			}
		}
	}
	os.Exit(m.Run())
}

// Whenever the writer is killed, the file is whole, and the next writer goes
// on with the next number.
func TestKilledWriter(t *testing.T) {
	dir := t.TempDir()
	self, err := os.Executable()
	require.NoError(t, err)
	left := 0
	for round := range 30 {
		cmd := exec.Command(self)
		cmd.Env = append(os.Environ(), saveInto+"="+dir)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		_, readErr := bufio.NewReader(out).ReadString('\n')
		time.Sleep(time.Duration(round) * 300 * time.Microsecond) // somewhere else each time
		require.NoError(t, errors.Join(readErr, cmd.Process.Kill()))
		cmd.Wait() // it was killed, which is an error
		x, err := Load(dir, round+1)
		if err != nil || len(x.Lost) != 0 || len(x.Sections) != 3 {
			t.Fatalf("round %d: %v %+v", round, err, x)
		}
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		left += len(entries) - round - 1
	}
	if left == 0 {
		t.Error("no kill came while a file was being written: the test shows nothing")
	}
}
