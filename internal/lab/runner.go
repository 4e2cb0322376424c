package lab

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"iocause/internal/host"
	"iocause/internal/lab/load"
)

// Runner runs scenarios with one iocause binary. Close it to remove the files
// that its scenarios share.
type Runner struct {
	Binary string
	// Window is how long iocause looks where a scenario does not say; 5s by default.
	Window time.Duration
	// Keep is a folder for the recording of each situation, NAME.iocause; the verdict
	// is then that of the recording. "" keeps none.
	Keep   string
	host   *host.Host
	shared *Env
	device string // under the shared files: kernel name and number
	number string
}

// NewRunner sweeps up after dead runs and makes a place for shared files.
func NewRunner(h *host.Host, binary, dir string) (*Runner, error) {
	if _, err := Sweep(h); err != nil {
		return nil, err
	}
	shared, err := New(h, dir)
	if err != nil {
		return nil, err
	}
	r := &Runner{Binary: binary, Window: 5 * time.Second, host: h, shared: shared}
	if r.device, r.number, err = DeviceOf(h, shared.Scratch()); err != nil {
		return nil, errors.Join(err, shared.Close())
	}
	return r, nil
}

// NewOwnRunner is a Runner of the very binary that runs.
func NewOwnRunner(h *host.Host, dir string) (*Runner, error) {
	self, err := Self()
	if err != nil {
		return nil, err
	}
	return NewRunner(h, self, dir)
}

// Self is the path of the binary that runs.
func Self() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("finding iocause itself: %w", err)
	}
	return self, nil
}

// Close removes the shared files.
func (r *Runner) Close() error { return r.shared.Close() }

// Outcome is what one run gave.
type Outcome struct {
	Report  []byte                     // what iocause diagnose printed
	Verdict Verdict                    // of it
	Loads   map[string]json.RawMessage // what each load printed
	Facts   Facts
	Setup   time.Duration // up to the observation
	Looked  time.Duration // from the start of iocause diagnose to its end
	Took    time.Duration // all in all
	Unreal  []string      // how the situation did not come about
	Wrong   []string      // what is not right about the causes
	Culprit []string      // what is not right about the culprit
}

// Verdict is the part of a report that scenarios speak about.
type Verdict struct {
	Primary  string `json:"primary"`
	Findings []struct {
		Cause   string         `json:"cause"`
		Answer  string         `json:"answer"`
		Culprit map[string]any `json:"culprit"`
	} `json:"findings"`
	CannotTell []struct {
		Cause   string `json:"cause"`
		Missing string `json:"missing"`
	} `json:"cannot_tell"`
}

// situation is one scenario while it stands.
type situation struct {
	*Runner
	scenario *Scenario
	env      *Env
	names    map[string]string // what {name} stands for
	cgroups  map[string]*Cgroup
	loads    map[string]*Process
}

// Run sets a scenario up, lets iocause look at it and takes it down again.
// An error means that it could not be run; a wrong verdict is an Outcome.
func (r *Runner) Run(ctx context.Context, s *Scenario) (*Outcome, error) { return r.run(ctx, s, nil) }

// run is the same; then is called once iocause has looked, while the situation stands.
func (r *Runner) run(ctx context.Context, s *Scenario, then func(*situation) error) (out *Outcome, err error) {
	start := time.Now()
	files, err := r.files(s)
	if err != nil {
		return nil, err
	}
	env, err := New(r.host, filepath.Dir(r.shared.Scratch()))
	if err != nil {
		return nil, err
	}
	defer func() {
		if closeErr := env.Close(); closeErr != nil {
			err = errors.Join(err, fmt.Errorf("take the scenario down: %w", closeErr))
		}
	}()
	st := &situation{Runner: r, scenario: s, env: env, names: files, cgroups: map[string]*Cgroup{}, loads: map[string]*Process{}}
	st.names["iocause"] = r.Binary
	st.names["scratch"], st.names["device"], st.names["capped"] = env.Scratch(), r.device, os.Getenv(CappedDevice)
	for i, step := range s.Setup {
		if err := st.take(ctx, &step); err != nil {
			return nil, fmt.Errorf("setup step %d: %w", i+1, err)
		}
	}
	if err := st.startAll(ctx, s.Loads); err != nil {
		return nil, err
	}
	against, err := st.record(ctx)
	if err != nil {
		return nil, err
	}
	out = &Outcome{Loads: map[string]json.RawMessage{}}
	if err := Sleep(ctx, s.Observe.After); err != nil {
		return nil, err
	}
	out.Setup = time.Since(start)
	if err := st.observe(ctx, out, against); err != nil {
		return nil, err
	}
	if then != nil {
		if err := then(st); err != nil {
			return nil, err
		}
	}
	for _, l := range s.all() {
		p := st.loads[l.Name]
		ended := p.Ended() && !(then != nil && s.Remedy.Stop == l.Name)
		if err := p.Stop(8*time.Second + s.patience()); err != nil {
			return nil, err
		}
		if ended {
			out.Unreal = append(out.Unreal, fmt.Sprintf("load %s ended by itself (%v): %s", l.Name, p.outcome(), bytes.TrimSpace(p.Stderr.Bytes())))
		}
		if b := bytes.TrimSpace(p.Stdout.Bytes()); json.Valid(b) {
			out.Loads[l.Name] = b
		}
	}
	out.Unreal = append(out.Unreal, st.prove(out)...)
	out.Wrong, out.Culprit = s.Expect.check(&out.Verdict, st.expand)
	out.Took = time.Since(start)
	return out, nil
}

// files makes the scenario's files; those of one name and size are shared.
func (r *Runner) files(s *Scenario) (map[string]string, error) {
	paths := map[string]string{}
	for name, size := range s.Files {
		path := filepath.Join(r.shared.Scratch(), name+"-"+size.String())
		if err := load.Create(path, int64(size)); err != nil {
			return nil, err
		}
		paths[name] = path
	}
	return paths, nil
}

func (st *situation) expand(text string) string {
	for name, value := range st.names {
		text = strings.ReplaceAll(text, "{"+name+"}", value)
	}
	return text
}

func (st *situation) take(ctx context.Context, step *Step) error {
	e := st.env
	switch {
	case step.Cgroup != nil:
		made, err := e.Cgroup(step.Cgroup.Name, st.limits(step.Cgroup))
		st.cgroups[step.Cgroup.Name] = made
		return err
	case step.Loop != nil:
		return st.takeLoop(step.Loop)
	case step.Slow != nil:
		return e.Slow(step.Slow.Disk, step.Slow.Latency)
	case step.Served != nil:
		f := step.Served
		serve := e.ServeFile
		if f.Over == "nfs" {
			serve = e.ServeNFS
		}
		path, err := serve(st.Binary, f.Name, &ServedFile{Size: int64(f.Size), Heads: slowHeads, Backing: st.expand(f.Backing)}, f.Latency)
		st.names[f.Name] = path
		return err
	case step.Mount != nil:
		dir, err := e.Mount(step.Mount.Name, step.Mount.FileSystem, st.shared.Scratch())
		st.names[step.Mount.Name] = dir
		return err
	case step.Swap != nil:
		_, err := e.Swap(int64(*step.Swap))
		return err
	case step.Hold != nil:
		return e.HoldMemory(int64(*step.Hold))
	case step.Sysctl != nil:
		value := step.Sysctl.Value
		if step.Sysctl.Bytes > 0 {
			value = strconv.FormatInt(int64(step.Sysctl.Bytes), 10)
		}
		return e.Sysctl(step.Sysctl.Name, value)
	case step.Cap != nil:
		return capDisk(step.Cap)
	case step.Shell != "":
		return runShell(ctx, step.Shell)
	case step.ReadAhead != nil:
		return e.ReadAhead(st.device, int(*step.ReadAhead>>10))
	default:
		return Sleep(ctx, *step.Wait)
	}
}

// limits are those that a step asks for.
func (st *situation) limits(c *CgroupStep) *Limits {
	return &Limits{Memory: int64(c.Memory), Swappiness: c.Swappiness, Device: st.number,
		ReadBPS: int64(c.ReadBPS), WriteBPS: int64(c.WriteBPS), ReadIOPS: c.ReadIOPS, WriteIOPS: c.WriteIOPS, CPUs: c.CPUs}
}

// takeLoop makes a loop disk that loads and facts can name.
func (st *situation) takeLoop(l *LoopStep) error {
	var disk *LoopDisk
	var err error
	if l.Latency > 0 {
		disk, err = st.takeSlow(l)
	} else {
		disk, err = st.env.Loop(l.Name, int64(l.Size), l.FileSystem, l.Serial)
	}
	if err != nil {
		return err
	}
	st.names[l.Name], st.names["device:"+l.Name] = disk.Dir, disk.Device
	if l.BrokenFrom > 0 {
		if err := st.env.Break(l.Name, int64(l.BrokenFrom)); err != nil {
			return err
		}
	}
	if l.ReadAhead > 0 {
		return st.env.ReadAhead(disk.Device, int(l.ReadAhead>>10))
	}
	return nil
}

// takeSlow makes a disk in memory; what its file system needs to come about takes no
// time on it.
func (st *situation) takeSlow(l *LoopStep) (*LoopDisk, error) {
	file := &ServedFile{Size: int64(l.Size), Heads: slowHeads, Keep: l.FileSystem != "", Discard: l.Discard}
	if !file.Keep {
		return st.env.SlowDisk(st.Binary, l.Name, file, l.Latency)
	}
	disk, err := st.env.SlowDisk(st.Binary, l.Name, file, 0)
	if err != nil {
		return nil, err
	}
	if err := st.env.Format(l.Name, disk, l.FileSystem); err != nil {
		return nil, err
	}
	return disk, st.env.Slow(l.Name, l.Latency)
}

// raw reads all counters as they are.
func (st *situation) raw() map[string]float64 {
	f := raw(st.host, st.device, st.cgroups, st.loads)
	for name, device := range st.names {
		if loop, ok := strings.CutPrefix(name, "device:"); ok {
			diskFacts(st.host, device, "loop."+loop, f)
		}
	}
	return f
}

// startAll starts loads, each when the one before is running.
func (st *situation) startAll(ctx context.Context, loads []Load) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute+st.scenario.patience())
	defer cancel()
	for _, l := range loads {
		if l.After > 0 {
			continue
		}
		p, err := st.startLoad(&l, l.Do != nil || l.Ready)
		if err != nil {
			return err
		}
		if err := p.WaitReady(ctx); err != nil {
			return fmt.Errorf("load %s: %w", l.Name, err)
		}
	}
	return nil
}

// startLoad starts one; with ready, it says when its calls begin.
func (st *situation) startLoad(l *Load, ready bool) (*Process, error) {
	argv := slices.Clone(l.Command)
	if l.Do != nil {
		argv = append([]string{st.Binary, "lab", "load", "--format=json"}, l.Do.Args()...)
		if ready {
			argv = append(argv, "--ready-fd=3")
		}
	}
	for i := range argv {
		argv[i] = st.expand(argv[i])
	}
	p, err := st.env.Start(argv, st.cgroups[l.Cgroup], ready)
	if err != nil {
		return nil, fmt.Errorf("load %s: %w", l.Name, err)
	}
	st.loads[l.Name] = p
	st.names["pid:"+l.Name] = strconv.Itoa(p.PID)
	return p, nil
}

// observe runs iocause diagnose, with flags to compare with what was before, and
// reads the facts before and after it.
func (st *situation) observe(ctx context.Context, out *Outcome, against []string) error {
	o := &st.scenario.Observe
	window := cmp.Or(o.Duration, st.Window)
	args := append([]string{"diagnose", "--format", "json"}, against...)
	if st.Keep == "" {
		args = append(args, "--duration", window.String())
	} else {
		args = append(args, "--recording", st.kept(""))
	}
	for _, a := range o.Args {
		args = append(args, st.expand(a))
	}
	ctx, cancel := context.WithTimeout(ctx, window+30*time.Second+st.scenario.patience())
	defer cancel()
	cmd := exec.CommandContext(ctx, st.Binary, args...)
	var err error
	if _, cmd.Env, err = st.env.marked(); err != nil {
		return err
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	start := time.Now()
	before := st.raw()
	if st.Keep != "" {
		if err := st.recordTo(ctx, st.kept(""), window); err != nil {
			return err
		}
	}
	err = cmd.Run()
	out.Looked = time.Since(start)
	out.Facts = between(before, st.raw(), out.Looked)
	out.Report = stdout.Bytes()
	if jsonErr := json.Unmarshal(out.Report, &out.Verdict); jsonErr != nil {
		// The situation is judged all the same, so that it can be tried
		// before there is a diagnosis to try on it.
		out.Wrong = nil
		out.Verdict.Primary = fmt.Sprintf("no report (%v: %s)", err, firstLine(stderr.Bytes()))
	}
	return nil
}

// prove holds the facts against what the scenario promises.
func (st *situation) prove(out *Outcome) []string {
	var unreal []string
	for name, want := range st.scenario.Proof {
		v, ok := out.Facts[name]
		switch {
		case !ok:
			unreal = append(unreal, name+" could not be read")
		case !want.holds(v):
			unreal = append(unreal, fmt.Sprintf("%s is %.4g, not %v", name, v, want))
		}
	}
	slices.Sort(unreal)
	return unreal
}

func firstLine(b []byte) string {
	line, _, _ := bytes.Cut(bytes.TrimSpace(b), []byte("\n"))
	return string(line)
}

// Sleep waits, or fails when it is ended before.
func Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return fmt.Errorf("waiting was ended: %w", ctx.Err())
	case <-time.After(d):
		return nil
	}
}
