package space

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"iocause/internal/host"
	"iocause/internal/lab"
)

// longestSeed is how long one situation may take before it is given up.
const longestSeed = 150 * time.Second

// Score proves one in a process of its own: what hangs or crashes takes nothing
// else with it, and what it leaves behind is taken down. binary is iocause.
func (s *Situation) Score(parent context.Context, h *host.Host, binary string, x *Series) Record {
	r := Record{Seed: s.Seed, Program: s.Program}
	ctx, cancel := context.WithTimeout(parent, longestSeed)
	defer cancel()
	args := []string{"lab", "prove", strconv.FormatUint(s.Seed, 10), "--format", "json"}
	if x.Scratch != "" {
		args = append(args, "--scratch", x.Scratch)
	}
	if x.Unplanted {
		args = append(args, "--if-named")
	}
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(unix.SIGTERM) }
	cmd.WaitDelay = 30 * time.Second // to take the situation down; after that it is killed
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	err := cmd.Run()
	var p Proof
	if err == nil {
		err = json.Unmarshal(out.Bytes(), &p)
	}
	if _, sweepErr := lab.Sweep(h); sweepErr != nil {
		err = errors.Join(err, sweepErr)
	}
	if err != nil {
		lines := strings.Split(strings.TrimSpace(said.String()), "\n")
		r.Failed = fmt.Sprintf("%v: %s", err, lines[len(lines)-1])
		if ctx.Err() != nil {
			r.Failed = fmt.Sprintf("it took longer than %v", longestSeed)
		}
		return r
	}
	p.Report = compact(p.Report)
	return NewRecord(&p, x.Details)
}

// compact takes the blanks out of JSON; what is none stays.
func compact(b []byte) []byte {
	var to bytes.Buffer
	if json.Compact(&to, b) != nil {
		return b
	}
	return to.Bytes()
}
