package proctest

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// What a worker does each time, in each of its threads, past the cache, and how
// it is called, which is hostile.
const (
	WorkerRead    = 23 * 4096
	WorkerWritten = 37 * 4096
	WorkerName    = ") R\x1b[2J\n\xff\u202e(\t" // 15 bytes at most
)

// The test binary is a worker where these say so.
const (
	workerFile    = "IOCAUSE_TEST_WORKER_FILE"
	workerThreads = "IOCAUSE_TEST_WORKER_THREADS"
)

// Main is TestMain for the tests of a package that start workers.
func Main(m *testing.M) {
	if name := os.Getenv(workerFile); name != "" {
		if err := work(name); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// work reads and writes in threads that end, and computes a little in each, on
// every line of standard input once more.
func work(name string) error {
	var threads int
	if _, err := fmt.Sscan(os.Getenv(workerThreads), &threads); err != nil {
		return err
	}
	// The name of the process is that of its first thread.
	if err := os.WriteFile(fmt.Sprintf("/proc/self/task/%d/comm", os.Getpid()), []byte(WorkerName), 0); err != nil {
		return err
	}
	fd, err := unix.Open(name, unix.O_RDWR|unix.O_DIRECT, 0)
	if err != nil {
		return err
	}
	buf, err := unix.Mmap(-1, 0, WorkerWritten, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return err
	}
	fmt.Println("ready")
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		ends := make(chan error)
		for range threads {
			go func() {
				runtime.LockOSThread() // and is not unlocked: the thread ends with it
				_, err := unix.Pwrite(fd, buf, 0)
				if err == nil {
					_, err = unix.Pread(fd, buf[:WorkerRead], 0)
				}
				x := uint64(1)
				for range int(1e7) {
					x = x*6364136223846793005 + 1
				}
				buf[0] = byte(x) // or the loop is left out
				ends <- err
			}()
			if err := <-ends; err != nil {
				return err
			}
		}
		fmt.Println("done")
	}
	return nil
}

// Worker is a process that works when it is told to.
type Worker struct{ child }

// StartWorker starts one on a file of WorkerWritten bytes at least, which is on a
// disk. It ends with the test. The package's TestMain must be Main.
func StartWorker(t *testing.T, file string, threads int) *Worker {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	w := &Worker{start(t, append(os.Environ(), workerFile+"="+file, fmt.Sprint(workerThreads, "=", threads)), self)}
	w.says(t, "ready")
	return w
}

// Work has it work once more, and waits for the end of that.
func (w *Worker) Work(t *testing.T) {
	t.Helper()
	w.tell(t)
	w.says(t, "done")
}

// child is a process that is told to go on by lines, and says by lines how far it
// is. It ends when its standard input does.
type child struct {
	PID     int
	process *os.Process
	in      *os.File
	out     *bufio.Reader
}

func start(t *testing.T, env []string, args ...string) child {
	t.Helper()
	theirIn, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, theirOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p, err := os.StartProcess(args[0], args, &os.ProcAttr{Env: env, Files: []*os.File{theirIn, theirOut, os.Stderr}})
	theirIn.Close()
	theirOut.Close()
	if err != nil {
		t.Fatal(err)
	}
	c := child{PID: p.Pid, process: p, in: in, out: bufio.NewReader(out)}
	t.Cleanup(func() {
		c.End()
		out.Close()
	})
	return c
}

// End waits for the end of the process; when it has ended nothing is done.
func (c *child) End() {
	if c.in.Close() == nil {
		_, _ = c.process.Wait() // a worker that failed has said why
	}
}

func (c *child) says(t *testing.T, want string) {
	t.Helper()
	if line, err := c.out.ReadString('\n'); line != want+"\n" {
		t.Fatalf("%q, %v; want %q", line, err, want)
	}
}

func (c *child) tell(t *testing.T) {
	t.Helper()
	if _, err := io.WriteString(c.in, "\n"); err != nil {
		t.Fatal(err)
	}
}
