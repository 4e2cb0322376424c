package lab

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"iocause/internal/lab/load"
)

// Guest is a virtual machine for one scenario: a kernel and a disk of known
// limits that no other machine has. The disk is ext4 at /mnt (and so under the
// scratch folder), with random bytes in /mnt/data.
type Guest struct {
	Kernel string    `yaml:"kernel"` // a suite of Debian (trixie, the default), or SUITE=VERSION
	Memory load.Size `yaml:"memory"` // 1536M by default
	CPUs   int       `yaml:"cpus"`   // 2 by default
	Disk   load.Size `yaml:"disk"`   // 512M by default; the file in it has three quarters of that
	IOPS   int64     `yaml:"iops"`   // cap of the disk's operations a second; 0: none
	BPS    load.Size `yaml:"bps"`    // cap of its bytes a second; 0: none
	Bus    string    `yaml:"bus"`    // of the disk: virtio (the default: vda), nvme (nvme0n1) or sata (sda)
	Second load.Size `yaml:"second"` // an empty disk beside it, of virtio (vdb where the first is vda); none by default
	// Programs are programs of this machine that it gets, with their libraries.
	Programs []string `yaml:"programs"`
	// Modules are modules of its kernel that are loaded, with what they depend on.
	Modules []string `yaml:"modules"`

	Limit time.Duration `yaml:"limit"` // after which it is given up; 20m by default
}

// CapStep sets the caps of the guest's disk while it runs; 0: none.
type CapStep struct {
	IOPS int64     `yaml:"iops"`
	BPS  load.Size `yaml:"bps"`
}

// GuestLine is the environment variable that tells a guest that it is one. It
// names the serial line on which the machine's monitor (QEMU's) listens.
const GuestLine = "IOCAUSE_LAB_GUEST"

// InGuest tells whether this is a virtual machine of the lab.
func InGuest() bool { return os.Getenv(GuestLine) != "" }

// NeedsGuest says that a scenario cannot be run here, "" when it can.
func (s *Scenario) NeedsGuest() string {
	if s.VM != nil && !InGuest() {
		return "a virtual machine (--vm)"
	}
	return ""
}

// guestPatience is what an emulated machine takes longer for everything.
const guestPatience = 8 * time.Minute

// patience is how much longer than on a real machine things may take.
func (s *Scenario) patience() time.Duration {
	if s.VM != nil || InGuest() {
		return guestPatience
	}
	return 0
}

// checkGuest refuses what only a guest can do elsewhere, and fills in defaults.
func (s *Scenario) checkGuest() error {
	for _, steps := range [][]Step{s.Setup, s.Before.changes(), s.Remedy.changes()} {
		for _, step := range steps {
			if step.Cap != nil && s.VM == nil {
				return errors.New("only the disk of a virtual machine can be capped: add vm")
			}
			if step.Shell != "" && s.VM == nil {
				return errors.New("only in a virtual machine is a shell's script run: add vm")
			}
		}
	}
	if s.VM == nil {
		return nil
	}
	v := s.VM
	set := func(size *load.Size, to load.Size) {
		if *size == 0 {
			*size = to
		}
	}
	set(&v.Memory, 1536<<20)
	set(&v.Disk, 512<<20)
	if v.CPUs == 0 {
		v.CPUs = 2
	}
	if v.Limit == 0 {
		v.Limit = 20 * time.Minute
	}
	if v.Bus == "" {
		v.Bus = "virtio"
	}
	if !slices.Contains([]string{"virtio", "nvme", "sata"}, v.Bus) {
		return fmt.Errorf("vm.bus: %q is not virtio, nvme or sata", v.Bus)
	}
	for _, p := range v.Programs {
		if !regexp.MustCompile(`^[a-z0-9][a-z0-9._-]*$`).MatchString(p) {
			return fmt.Errorf("vm.programs: %q is not the name of a program", p)
		}
	}
	for _, m := range v.Modules {
		if !regexp.MustCompile(`^[a-z0-9_-]+$`).MatchString(m) {
			return fmt.Errorf("vm.modules: %q is not the name of a module", m)
		}
	}
	if v.Kernel == "" {
		v.Kernel = "trixie"
	}
	if !regexp.MustCompile(`^[a-z][a-z0-9-]*(=[A-Za-z0-9.+~-]+)?$`).MatchString(v.Kernel) {
		return fmt.Errorf("vm.kernel: %q is not a suite of Debian, or SUITE=VERSION", v.Kernel)
	}
	return nil
}

// capDisk tells the monitor of the machine that we run in. Its operands are
// bytes (all, read, written) and operations (likewise) a second.
func capDisk(c *CapStep) error {
	line := os.Getenv(GuestLine)
	if line == "" {
		return errors.New("cap the disk: not in a virtual machine of the lab")
	}
	f, err := os.OpenFile(line, os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("cap the disk: %w", err)
	}
	_, err = fmt.Fprintf(f, "\nblock_set_io_throttle data %d 0 0 %d 0 0\n", c.BPS, c.IOPS)
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("cap the disk: %w", err)
	}
	return nil
}

// runShell runs a script of a scenario. Only in the lab's virtual machines are there
// any, which are thrown away after it.
func runShell(ctx context.Context, script string) error {
	if !InGuest() {
		return errors.New("run a scenario's script: not in a virtual machine of the lab")
	}
	out, err := exec.CommandContext(ctx, "sh", "-ec", script).CombinedOutput()
	if err != nil {
		return fmt.Errorf("run a scenario's script: %w: %s", err, lastLine(out))
	}
	return nil
}

// Guests runs scenarios in virtual machines, one after the other.
type Guests struct {
	dir      string // scripts and the binary
	scenario func(name string) ([]byte, error)
	kernels  map[string]string // folder, by what was asked for
}

// NewGuests prepares a folder for them. scripts are those of test/vm; binary is
// iocause, linked statically. Close removes the folder.
func NewGuests(scripts fs.FS, binary string, scenario func(name string) ([]byte, error)) (*Guests, error) {
	if err := static(binary); err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", Prefix+"vm-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for virtual machines: %w", err)
	}
	g := &Guests{dir: dir, scenario: scenario, kernels: map[string]string{}}
	if err := g.fill(scripts, binary); err != nil {
		return nil, errors.Join(err, g.Close())
	}
	return g, nil
}

func (g *Guests) fill(scripts fs.FS, binary string) error {
	entries, err := fs.ReadDir(scripts, ".")
	if err != nil {
		return fmt.Errorf("unpack the scripts for virtual machines: %w", err)
	}
	for _, e := range entries {
		b, err := fs.ReadFile(scripts, e.Name())
		if err == nil {
			err = os.WriteFile(filepath.Join(g.dir, e.Name()), b, 0o700)
		}
		if err != nil {
			return fmt.Errorf("unpack the scripts for virtual machines: %w", err)
		}
	}
	b, err := os.ReadFile(binary)
	if err == nil {
		err = os.WriteFile(filepath.Join(g.dir, "iocause"), b, 0o700)
	}
	if err != nil {
		return fmt.Errorf("copy iocause for virtual machines: %w", err)
	}
	return nil
}

// Close removes the folder. Fetched kernels stay where test/vm/kernel keeps them.
func (g *Guests) Close() error {
	if err := os.RemoveAll(g.dir); err != nil {
		return fmt.Errorf("remove the folder for virtual machines: %w", err)
	}
	return nil
}

// static refuses a binary that needs libraries: a guest has none.
func static(binary string) error {
	f, err := elf.Open(binary)
	if err != nil {
		return fmt.Errorf("look at iocause itself: %w", err)
	}
	defer f.Close()
	for _, p := range f.Progs {
		if p.Type == elf.PT_INTERP {
			return errors.New("run iocause in a virtual machine: it is linked with libraries, which a guest lacks; build it with CGO_ENABLED=0")
		}
	}
	return nil
}

// kernel fetches a kernel, once.
func (g *Guests) kernel(ctx context.Context, name string) (string, error) {
	if folder := g.kernels[name]; folder != "" {
		return folder, nil
	}
	suite, version, _ := strings.Cut(name, "=")
	args := []string{suite}
	if version != "" {
		args = append(args, version)
	}
	out, err := g.script(ctx, "kernel", args...).Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = fmt.Errorf("%w: %s", err, lastLine(exit.Stderr))
		}
		return "", fmt.Errorf("fetch the kernel %s: %w", name, err)
	}
	g.kernels[name] = string(bytes.TrimSpace(out))
	return g.kernels[name], nil
}

// script is one of the scripts; when the context ends, it and QEMU do.
func (g *Guests) script(ctx context.Context, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "bash", append([]string{filepath.Join(g.dir, name)}, args...)...)
	endGroup(cmd)
	return cmd
}

// endGroup lets the end of the context end all that the command has started.
func endGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
}

// guestScript runs the scenario as on any machine, and sends the account home.
const guestScript = `export IOCAUSE_LAB_GUEST=/dev/ttyS3
stty -F /dev/ttyS3 raw -echo
chmod 755 iocause
./iocause lab score --scenarios scenarios --floor 0 --format json >/tmp/score || true
cat /tmp/score >$RESULT
[ -s /tmp/score ]`

// Run boots a guest for a scenario and runs it there. Kernel is the one that it
// ran on.
func (g *Guests) Run(ctx context.Context, s *Scenario) (run Scored, err error) {
	kernel, err := g.kernel(ctx, s.VM.Kernel)
	if err != nil {
		return run, err
	}
	b, err := g.scenario(s.Name)
	if err != nil {
		return run, fmt.Errorf("read the scenario %s: %w", s.Name, err)
	}
	work, err := os.MkdirTemp(g.dir, "run-")
	if err != nil {
		return run, fmt.Errorf("make a folder for a virtual machine: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	folder := filepath.Join(work, "scenarios", s.Name)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return run, fmt.Errorf("hand the scenario over: %w", err)
	}
	if err := os.WriteFile(filepath.Join(folder, "scenario.yaml"), b, 0o600); err != nil {
		return run, fmt.Errorf("hand the scenario over: %w", err)
	}
	result := filepath.Join(work, "result")
	args := []string{
		"-q", "-k", kernel, "-m", strconv.Itoa(int(s.VM.Memory >> 20)), "-c", strconv.Itoa(s.VM.CPUs),
		"-d", strconv.Itoa(int(s.VM.Disk >> 20)), "-i", strconv.FormatInt(s.VM.IOPS, 10), "-b", strconv.FormatInt(int64(s.VM.BPS), 10),
		"-t", strconv.Itoa(int(s.VM.Limit.Seconds())), "-f", filepath.Join(g.dir, "iocause"), "-f", filepath.Join(work, "scenarios"),
		"-o", result, "-s", guestScript,
	}
	args = append(args, "-n", s.VM.Bus, "-D", strconv.Itoa(int(s.VM.Second>>20)))
	for _, m := range s.VM.Modules {
		args = append(args, "-M", m)
	}
	for _, p := range s.VM.Programs {
		args = append(args, "-x", p)
	}
	if err := g.boot(ctx, s.VM.Limit/2, args); err != nil {
		return run, fmt.Errorf("run a virtual machine: %w", err)
	}
	var score Score
	b, err = os.ReadFile(result)
	if err == nil {
		err = json.Unmarshal(b, &score)
	}
	if err != nil {
		return run, fmt.Errorf("read what the virtual machine sent: %w", err)
	}
	if len(score.Runs) != 1 {
		return run, fmt.Errorf("read what the virtual machine sent: %d runs, not one", len(score.Runs))
	}
	run = score.Runs[0]
	run.Kernel = score.Kernel
	return run, nil
}

// boot boots a guest, and once more one that died within a time: emulation is
// not perfect.
func (g *Guests) boot(ctx context.Context, within time.Duration, args []string) error {
	start := time.Now()
	console, err := g.script(ctx, "boot", args...).CombinedOutput()
	if err != nil && ctx.Err() == nil && died(err) && time.Since(start) < within {
		console, err = g.script(ctx, "boot", args...).CombinedOutput()
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return fmt.Errorf("%w: %s", err, lastLines(console))
	}
	return nil
}

// died tells of a machine that has hung or panicked, by the status of boot.
func died(err error) bool {
	var exit *exec.ExitError
	return errors.As(err, &exit) && exit.ExitCode() == 125
}

// lastLines are the last words of a machine: the kernel's are before boot's.
func lastLines(b []byte) string {
	lines := strings.Split(string(bytes.TrimSpace(b)), "\n")
	return strings.Join(lines[max(0, len(lines)-3):], "; ")
}

func lastLine(b []byte) string {
	b = bytes.TrimSpace(b)
	return string(bytes.TrimSpace(b[bytes.LastIndexByte(b, '\n')+1:]))
}
