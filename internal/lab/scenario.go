package lab

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"iocause/internal/ask"
	"iocause/internal/lab/load"
)

// Scenario is one situation and the verdict that is right for it, read from
// scenarios/NAME/scenario.yaml. A field that does not exist is an error.
type Scenario struct {
	Name string `yaml:"-"` // of the folder
	Path string `yaml:"-"` // of the file

	Title    string               `yaml:"title"` // one line
	About    string               `yaml:"about"` // why the situation has this cause
	Requires []string             `yaml:"requires"`
	Files    map[string]load.Size `yaml:"files"` // filled files, made once and shared; {name} is the path
	VM       *Guest               `yaml:"vm"`    // the virtual machine that it needs; without one, this machine
	Setup    []Step               `yaml:"setup"`
	Loads    []Load               `yaml:"loads"`  // started in this order, each when the one before is running
	Before   *Before              `yaml:"before"` // what the observation is compared with
	Observe  Observe              `yaml:"observe"`
	// Proof holds the situation itself against figures that iocause has no
	// part in ("vmstat.workingset_refault_file: > 1000", see facts.go):
	// a situation that did not come about says nothing about a verdict.
	Proof  map[string]Condition `yaml:"proof"`
	Expect Expect               `yaml:"expect"`
	Remedy *Remedy              `yaml:"remedy"` // for 'iocause lab verify'
}

// Step is one change to the machine; exactly one field is set.
type Step struct {
	Cgroup    *CgroupStep    `yaml:"cgroup"`
	Loop      *LoopStep      `yaml:"loop"`
	Mount     *MountStep     `yaml:"mount"`
	Swap      *load.Size     `yaml:"swap"` // a swap file of this size
	Hold      *load.Size     `yaml:"hold_all_memory_but"`
	Sysctl    *SysctlStep    `yaml:"sysctl"`
	ReadAhead *load.Size     `yaml:"read_ahead"` // of the scratch folder's device
	Cap       *CapStep       `yaml:"cap"`        // of the disk of a virtual machine
	Slow      *SlowStep      `yaml:"slow"`       // a disk or served file with a latency
	Served    *ServedStep    `yaml:"served"`
	Wait      *time.Duration `yaml:"wait"`
	Shell     string         `yaml:"shell"` // a script, in a virtual machine
}

// does is how many things a step does.
func (s *Step) does() int {
	n := 0
	for _, is := range []bool{s.Cgroup != nil, s.Loop != nil, s.Mount != nil, s.Swap != nil, s.Hold != nil, s.Sysctl != nil, s.ReadAhead != nil, s.Cap != nil, s.Slow != nil, s.Served != nil, s.Shell != "", s.Wait != nil} {
		if is {
			n++
		}
	}
	return n
}

// check refuses a step that does nothing, or several things, or cannot be done.
func (s *Step) check() error {
	if n := s.does(); n != 1 {
		return fmt.Errorf("the step does %d things, not one", n)
	}
	switch {
	case s.Loop != nil && (s.Loop.Latency < 0 || s.Loop.Latency > 0 && (s.Loop.Serial || s.Loop.BrokenFrom > 0)):
		return fmt.Errorf("loop %s: a disk with a latency is in memory: it takes no serial or broken", s.Loop.Name)
	case s.Loop != nil && (s.Loop.Discard < 0 || s.Loop.Discard > 0 && s.Loop.Latency == 0):
		return fmt.Errorf("loop %s: only a disk with a latency takes a time for discards", s.Loop.Name)
	case s.Slow != nil && (s.Slow.Disk == "" || s.Slow.Latency <= 0):
		return errors.New("slow: it needs the name of a disk, and a latency above zero")
	case s.Served != nil && (s.Served.Name == "" || s.Served.Size <= 0 || s.Served.Latency < 0 || s.Served.Over != "" && (s.Served.Over != "nfs" || s.Served.Backing != "")):
		return errors.New("served: it needs a name, a size and a latency of zero or more; over may only be nfs, and then without backing")
	}
	return nil
}

// SlowStep sets the latency of a loop disk that has one.
type SlowStep struct {
	Disk    string        `yaml:"disk"`
	Latency time.Duration `yaml:"latency"`
}

// ServedStep mounts a file that a daemon of its own serves through FUSE, eight
// requests at a time; {name} is its path, and iocause the daemon's name. Over nfs
// it is an NFS server on this machine, and the kernel's client.
type ServedStep struct {
	Name    string        `yaml:"name"`
	Size    load.Size     `yaml:"size"`
	Latency time.Duration `yaml:"latency"` // of each read and write, beside what the backing takes
	Over    string        `yaml:"over"`    // nfs; FUSE by default
	Backing string        `yaml:"backing"` // a file or device that the daemon reads instead of keeping nothing
}

// CgroupStep makes a cgroup that loads can name. Its device is the one under
// the scratch folder.
type CgroupStep struct {
	Name       string    `yaml:"name"`
	Memory     load.Size `yaml:"memory"`
	Swappiness string    `yaml:"swappiness"` // v1 only
	ReadBPS    load.Size `yaml:"read_bps"`
	WriteBPS   load.Size `yaml:"write_bps"`
	ReadIOPS   int64     `yaml:"read_iops"`
	WriteIOPS  int64     `yaml:"write_iops"`
	CPUs       float64   `yaml:"cpus"` // processors that it may use at once, on average
}

// LoopStep makes a file system on a loop device; {name} is where it is
// mounted. Without a file system {name} is the device.
type LoopStep struct {
	Name       string    `yaml:"name"`
	Size       load.Size `yaml:"size"`
	FileSystem string    `yaml:"filesystem"`  // ext4, xfs, btrfs or none
	BrokenFrom load.Size `yaml:"broken_from"` // reads behind this byte fail; 0: none
	Serial     bool      `yaml:"serial"`      // one request at a time, through the page cache of the file
	ReadAhead  load.Size `yaml:"read_ahead"`  // of the device; 0: the kernel's
	// Latency is how long every request takes, eight of them at a time, on a disk in
	// memory, which without a file system keeps nothing; 0: what its file takes.
	Latency time.Duration `yaml:"latency"`
	Discard time.Duration `yaml:"discard"` // how long a discard takes there; 0: it takes none
}

// MountStep mounts a file system that has no device of its own; {name} is where.
// An overlay has the folder of the scenario's files below, so that {name}/x-1G is
// the file x of 1 GiB; what is written goes to the scratch folder.
type MountStep struct {
	Name       string `yaml:"name"`
	FileSystem string `yaml:"filesystem"` // tmpfs or overlay
}

// SysctlStep sets one setting for the time of the scenario.
type SysctlStep struct {
	Name  string    `yaml:"name"`
	Value string    `yaml:"value"`
	Bytes load.Size `yaml:"bytes"` // in place of a value; an experiment's scale applies
}

// Load is one process: the generator of `iocause lab load`, or a command.
type Load struct {
	Name    string   `yaml:"name"`
	Cgroup  string   `yaml:"cgroup"`
	Do      *Spec    `yaml:"do"`
	Command []string `yaml:"command"` // {iocause} is the binary itself
	// Ready says that the command writes a line to its file descriptor 3 when its
	// preparations are over; what comes next waits for that.
	Ready bool `yaml:"ready"`
	// After is how long after the others it starts; in experiments only.
	After time.Duration `yaml:"after"`
}

// Spec is a load.Spec whose keys are the flags of `iocause lab load`, and kind.
type Spec struct{ load.Spec }

// UnmarshalYAML reads the keys as flags.
func (s *Spec) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: a load is a list of keys and values", node.Line)
	}
	flags := flag.NewFlagSet("", flag.ContinueOnError)
	s.Bind(flags)
	for i := 0; i+1 < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		if key.Value == "kind" {
			s.Kind = load.Kind(value.Value)
			if load.KindHelp(s.Kind) == "" {
				return fmt.Errorf("line %d: no kind of load is called %q", value.Line, value.Value)
			}
			continue
		}
		if flags.Lookup(key.Value) == nil {
			return fmt.Errorf("line %d: a load has no field %q", key.Line, key.Value)
		}
		if err := flags.Set(key.Value, value.Value); err != nil {
			return fmt.Errorf("line %d: %s: %w", value.Line, key.Value, err)
		}
	}
	if s.Kind == "" {
		return fmt.Errorf("line %d: a load needs a kind", node.Line)
	}
	return nil
}

// Observe says when and how iocause looks.
type Observe struct {
	After    time.Duration `yaml:"after"`    // that all loads have been running; 1s by default
	Duration time.Duration `yaml:"duration"` // 0: the runner's Window
	Args     []string      `yaml:"args"`     // more for iocause diagnose; {pid:LOAD} is a load's process
}

// Expect is the right verdict.
type Expect struct {
	Primary      []string          `yaml:"primary"`      // any of these
	Culprit      map[string]string `yaml:"culprit"`      // of the first finding: comm, cgroup, file, device to a pattern
	Not          []string          `yaml:"not"`          // causes that must not be found at all
	Contributing []string          `yaml:"contributing"` // causes that must be found too
}

// all are the loads, those that start with a change included.
func (s *Scenario) all() []Load {
	if s.Before == nil {
		return s.Loads
	}
	return append(slices.Clone(s.Loads), s.Before.Loads...)
}

// Read reads one scenario file. Errors name the file and, where there is one,
// the line.
func Read(path string) (*Scenario, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read a scenario: %w", err)
	}
	return parseScenario(path, b)
}

func parseScenario(path string, b []byte) (*Scenario, error) {
	s := &Scenario{Name: filepath.Base(filepath.Dir(path)), Path: path}
	d := yaml.NewDecoder(bytes.NewReader(b))
	d.KnownFields(true)
	if err := d.Decode(s); err != nil {
		return nil, located(path, err)
	}
	if err := s.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return s, nil
}

// ReadAll reads every scenario below a folder, by name. The folder is where
// errors say that a file is.
func ReadAll(files fs.FS, folder string) ([]*Scenario, error) {
	paths, err := fs.Glob(files, "*/scenario.yaml")
	if err != nil {
		return nil, fmt.Errorf("find scenarios: %w", err)
	}
	slices.Sort(paths)
	var all []*Scenario
	var errs []error
	for _, path := range paths {
		b, err := fs.ReadFile(files, path)
		if err != nil {
			errs = append(errs, fmt.Errorf("read a scenario: %w", err))
			continue
		}
		s, err := parseScenario(filepath.Join(folder, path), b)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		all = append(all, s)
	}
	return all, errors.Join(errs...)
}

// Choose reads the scenarios below a folder whose name matches filter; inGuests, only
// those that need a virtual machine.
func Choose(files fs.FS, folder, filter string, inGuests bool) ([]*Scenario, error) {
	pattern, err := regexp.Compile(filter)
	if err != nil {
		return nil, &ask.Error{Err: fmt.Errorf("reading --filter: %w", err), Next: "--filter 'cold|swap' is a good start"}
	}
	all, err := ReadAll(files, folder)
	if err != nil {
		return nil, &ask.Error{Err: err, Next: "correct that; docs/lab.md says where the fields are described"}
	}
	var chosen []*Scenario
	for _, s := range all {
		if pattern.MatchString(s.Name) && (s.VM != nil || !inGuests) {
			chosen = append(chosen, s)
		}
	}
	if len(chosen) == 0 {
		return nil, &ask.Error{Err: errors.New("looking for scenarios: none has that name"), Next: "'iocause lab score --list' shows them"}
	}
	return chosen, nil
}

// located turns the decoder's "line 3: field x not found in type lab.Step"
// into "file:3: there is no field x".
func located(path string, err error) error {
	var mistakes *yaml.TypeError
	lines := []string{strings.TrimPrefix(err.Error(), "yaml: ")}
	if errors.As(err, &mistakes) {
		lines = mistakes.Errors
	}
	pattern := regexp.MustCompile(`^line (\d+): (?:field (\S+) not found in type \S+)?(.*)$`)
	var errs []error
	for _, line := range lines {
		switch m := pattern.FindStringSubmatch(line); {
		case m == nil:
			errs = append(errs, fmt.Errorf("%s: %s", path, line))
		case m[2] != "":
			errs = append(errs, fmt.Errorf("%s:%s: there is no field %s", path, m[1], m[2]))
		default:
			errs = append(errs, fmt.Errorf("%s:%s: %s", path, m[1], m[3]))
		}
	}
	return errors.Join(errs...)
}

// check refuses what the types cannot.
func (s *Scenario) check() error {
	if s.Observe.After == 0 {
		s.Observe.After = time.Second
	}
	if s.Title == "" || s.About == "" || len(s.Expect.Primary) == 0 {
		return errors.New("a scenario needs a title, about and expect.primary")
	}
	for _, r := range s.Requires {
		if !slices.Contains(Requirements(), r) {
			return fmt.Errorf("unknown requirement %q; known are: %s", r, strings.Join(Requirements(), ", "))
		}
	}
	cgroups := map[string]bool{"": true}
	if err := errors.Join(s.checkGuest(), s.Before.check()); err != nil {
		return err
	}
	for i, step := range append(slices.Clone(s.Setup), s.Before.changes()...) {
		if err := step.check(); err != nil {
			return fmt.Errorf("setup step %d: %w", i+1, err)
		}
		if step.Cgroup != nil {
			cgroups[step.Cgroup.Name] = true
		}
	}
	if s.Remedy != nil {
		if err := s.Remedy.check(s); err != nil {
			return err
		}
	}
	for i, l := range s.all() {
		switch {
		case l.Name == "":
			return fmt.Errorf("load %d has no name", i+1)
		case (l.Do == nil) == (len(l.Command) == 0):
			return fmt.Errorf("load %s needs either do or command", l.Name)
		case l.Ready && l.Do != nil:
			return fmt.Errorf("load %s: ready is only for a command", l.Name)
		case l.After != 0:
			return fmt.Errorf("load %s: after is only for experiments", l.Name)
		case !cgroups[l.Cgroup]:
			return fmt.Errorf("load %s: there is no cgroup %q", l.Name, l.Cgroup)
		}
	}
	for field, pattern := range s.Expect.Culprit {
		if !slices.Contains([]string{"comm", "cgroup", "file", "device"}, field) {
			return fmt.Errorf("a culprit has no field %q", field)
		}
		if _, err := regexp.Compile(pattern); err != nil {
			return fmt.Errorf("pattern for the culprit's %s: %w", field, err)
		}
	}
	return nil
}
