package page

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A report may take more than the agent: it is made by a process of its own, that
// goes first where memory is short, and last where processors are.
const (
	reportMemory = "GOMEMLIMIT=80MiB"
	reportNice   = 10
	reportOOM    = "500" // oom_score_adj
)

// ReportAside lets another process of this binary write a report of what the agent
// keeps in dir.
func ReportAside(ctx context.Context, w io.Writer, dir string, ask Ask) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("making the report: %w", err)
	}
	args := []string{"report", "--dir", dir, "-o", "-"}
	if ask.Incident > 0 {
		args = append(args, strconv.Itoa(ask.Incident))
	} else {
		args = append(args, "--from", ask.From.Format(time.RFC3339), "--to", ask.To.Format(time.RFC3339))
	}
	c := exec.CommandContext(ctx, self, args...)
	var said bytes.Buffer
	c.Stdout, c.Stderr, c.WaitDelay = w, &said, time.Second
	c.Env = append(os.Environ(), reportMemory)
	if err := c.Start(); err != nil {
		return fmt.Errorf("making the report: %w", err)
	}
	// What fails of these two costs the machine a little, and the report nothing.
	_ = syscall.Setpriority(syscall.PRIO_PROCESS, c.Process.Pid, reportNice)
	_ = os.WriteFile(fmt.Sprintf("/proc/%d/oom_score_adj", c.Process.Pid), []byte(reportOOM), 0)
	if err := c.Wait(); err != nil {
		var failed *exec.ExitError
		if errors.As(err, &failed) && said.Len() > 0 {
			return errors.New(strings.TrimSpace(said.String()))
		}
		return fmt.Errorf("making the report: %w", err)
	}
	return nil
}
