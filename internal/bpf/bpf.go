// Package bpf loads and attaches the kernel programs of the probes, says
// what a kernel offers, and measures what the programs cost. It holds no
// program of its own.
package bpf

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/cilium/ebpf"
	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/rlimit"
	"golang.org/x/sys/unix"

	"iocause/internal/host"
	"iocause/internal/sample"
)

// Sentinel errors that Open wraps; each names what to do next.
var (
	ErrNotPermitted = errors.New("not permitted to load BPF programs: run as root, or with CAP_BPF and CAP_PERFMON")
	ErrNoBTF        = errors.New("the kernel has no type information in /sys/kernel/btf/vmlinux: use a kernel built with CONFIG_DEBUG_INFO_BTF=y")
	ErrNotSupported = errors.New("not supported by this kernel")
	ErrFiles        = errors.New("too many open files: iocause needs 200 of them; raise the limit (ulimit -n, LimitNOFILE= of a service)")
	ErrMemory       = errors.New("too little memory for the BPF programs, which take up to 64 MiB: raise the memory limit of iocause's cgroup, or run it in another one")
	ErrRefused      = errors.New("refused by this kernel's verifier, which is a bug of iocause: please report it with the kernel version")
)

// Program is one kernel program of a probe. It is an iterator where it is for no
// tracepoint and no function.
type Program struct {
	Name       string // in the object file
	Tracepoint string
	Former     string // name of the tracepoint in older kernels
	Event      string // the event of a tracepoint, with its group, as perf records it: "filemap/mm_filemap_fault"
	Entry      string // the kernel function at whose beginning it is called (fentry)
	Exit       string // ... at whose end (fexit)
	Call       string // ... at whose beginning it is called by a kprobe
	Return     string // ... at whose end (kretprobe)
	Returns    int    // of so many calls at a time the ends are seen; 0: as many as the kernel grants
	Arguments  int    // attach only where the tracepoint or function has this many; 0 any
	Optional   bool   // the probe is of use without it
	Spare      bool   // nothing is lost where the kernel passes over it
	Late       bool   // loaded when it is attached for the first time; few machines need it
	After      string // a copy of that program, which counts what the kernel passed over that one for (twice.go)
	// Events are in its place where the kernel may preempt programs at tracepoints.
	Events []Program
}

// Hook is where the program is called, as samples name it: "tp:block_rq_issue".
func (p *Program) Hook() string {
	switch {
	case p.Tracepoint != "":
		return "tp:" + p.Tracepoint
	case p.Event != "":
		return "event:" + p.tracepoint()
	case p.Entry != "":
		return "fentry:" + p.Entry
	case p.Exit != "":
		return "fexit:" + p.Exit
	case p.Call != "":
		return "kprobe:" + p.Call
	case p.Return != "":
		return "kretprobe:" + p.Return
	}
	return ""
}

// function is the kernel's function that it is at.
func (p *Program) function() string { return p.Entry + p.Exit + p.Call + p.Return }

// Probe is a loaded and attached object.
type Probe struct {
	collection *ebpf.Collection
	links      map[string]link.Link // by program
	closers    []io.Closer          // what else was attached to
	iterators  map[string]*link.Iter
	hooks      map[string]*Program // by name, those that are attached or were
	programs   []string
	missing    []string
	ways       []sample.Way
	cost       costMeter
	window     uint32 // see Window
	fit        *fit   // what it was loaded by, for late programs
}

// Open loads the object, sets its constants, and attaches every program.
// Programs whose tracepoint the kernel lacks are left out when they are
// optional (see Missing) and fail the probe when they are not.
func Open(spec *ebpf.CollectionSpec, programs []Program, constants map[string]any) (*Probe, error) {
	return OpenWays(spec, programs, nil, constants)
}

// prepared tells why this process or kernel can have no probe at all.
func prepared() (*Types, error) {
	if err := permitted(); err != nil {
		return nil, err
	}
	if err := hasTypes("/sys/kernel/btf/vmlinux"); err != nil {
		return nil, err
	}
	limited := rlimit.RemoveMemlock() // which makes a map to find out, and does not wrap what is said of that
	if err := roomFor(host.Live()); err != nil {
		return nil, err
	}
	if err := tryMap(); err != nil {
		return nil, err
	}
	if limited != nil && !errors.Is(limited, os.ErrPermission) {
		return nil, fmt.Errorf("raising the locked-memory limit: %w", limited)
	}
	return LoadTypes()
}

// load loads those of the programs that this kernel has the tracepoint for, and
// attaches them. A hookError names the program that could not be.
func load(types *Types, fit *fit, spec *ebpf.CollectionSpec, programs []Program, constants map[string]any) (*Probe, error) {
	if spec.Programs[onRename] != nil {
		programs = append(slices.Clone(programs), Program{Name: onRename, Tracepoint: "task_rename", Optional: true})
	}
	p := &Probe{links: map[string]link.Link{}, iterators: map[string]*link.Iter{}, hooks: map[string]*Program{}, fit: fit}
	p.cost.miss, p.cost.alone = map[string]uint64{}, map[string]uint64{}
	more, err := fit.fit(spec)
	if err != nil {
		return nil, err
	}
	copies(spec, programs)
	all := slices.Concat(fit.pairs(spec, fit.parted(spec, programs, fit.lacks&passesOver != 0)), more)
	programs, p.missing, err = types.present(all)
	if err != nil {
		return nil, err
	}
	for i := range all {
		if name := all[i].Name; !slices.ContainsFunc(programs, func(q Program) bool { return q.Name == name }) {
			delete(spec.Programs, name)
		}
	}
	for i := range programs {
		prog := &programs[i]
		loaded := spec.Programs[prog.Name]
		if loaded == nil { // later
			continue
		}
		if prog.Tracepoint != "" && prog.Former != "" {
			loaded.AttachTo = prog.Tracepoint
		}
		if function := prog.function(); function != "" {
			loaded.AttachTo = function
		}
	}
	for name, value := range constants {
		v := spec.Variables[name]
		if v == nil {
			return nil, fmt.Errorf("setting constant %s: no such variable in the object", name)
		}
		if err := v.Set(value); err != nil {
			return nil, fmt.Errorf("setting constant %s: %w", name, err)
		}
	}
	if err := pages(spec); err != nil {
		return nil, err
	}
	p.leave(spec, programs)
	untyped(spec)
	c, err := ebpf.NewCollectionWithOptions(spec, ebpf.CollectionOptions{Cache: types.cache})
	if err != nil {
		return nil, blame(programs, lacks(explain("loading", err), spec.Variables["lacks"] != nil))
	}
	p.collection = c
	// What is at an event is called after what was at its tracepoint before, and needs what that notes.
	slices.SortStableFunc(programs, func(a, b Program) int { return cmp.Compare(min(len(a.Event), 1), min(len(b.Event), 1)) })
	for i := range programs {
		if c.Programs[programs[i].Name] == nil {
			continue
		}
		if err := p.attach(&programs[i]); err != nil {
			return nil, errors.Join(&hookError{programs[i].Name, programs[i].Event != "", err}, p.Close())
		}
	}
	return p, nil
}

// untyped takes the types of keys and values from all maps but those whose rows are
// with tasks, of which the kernel demands them: it would be told, and check, them
// once for each map.
func untyped(spec *ebpf.CollectionSpec) {
	for _, m := range spec.Maps {
		if m.Type != ebpf.TaskStorage {
			m.Key, m.Value = nil, nil
		}
	}
}

func (p *Probe) attach(prog *Program) error {
	if prog.Hook() == "" {
		it, err := link.AttachIter(link.IterOptions{Program: p.collection.Programs[prog.Name]})
		if err != nil {
			return explain("attaching iterator "+prog.Name, err)
		}
		p.iterators[prog.Name] = it
		p.links[prog.Name] = it
		return nil
	}
	p.hooks[prog.Name] = prog
	if err := p.attachOne(prog.Name); err != nil {
		return err
	}
	p.programs = append(p.programs, prog.Name)
	return nil
}

// Attach attaches a program of Open's list again that Detach has detached; one
// that is attached, or that this kernel has another for, is left as it is.
func (p *Probe) Attach(program string) error {
	if err := p.attachOne(program); err != nil {
		return err
	}
	return p.attachOne(program + second)
}

func (p *Probe) attachOne(program string) error {
	hook := p.hooks[program]
	if hook == nil || p.links[program] != nil {
		return nil
	}
	if p.collection.Programs[program] == nil {
		if err := p.loadLate(hook.After != ""); err != nil {
			return err
		}
	}
	kind := ebpf.AttachTraceRawTp
	switch {
	case hook.Entry != "":
		kind = ebpf.AttachTraceFEntry
	case hook.Exit != "":
		kind = ebpf.AttachTraceFExit
	}
	var l link.Link
	var err error
	switch {
	case hook.Event != "":
		l, err = attachEvent(hook, p.collection.Programs[program])
	case hook.Call+hook.Return != "":
		l, err = attachKprobe(hook, p.collection.Programs[program])
	default:
		l, err = link.AttachTracing(link.TracingOptions{Program: p.collection.Programs[program], AttachType: kind})
	}
	if err != nil {
		return explain("attaching to "+hook.Hook(), err)
	}
	p.links[program] = l
	if hook.After != "" {
		return p.alone(hook.After)
	}
	return nil
}

// Detach detaches a program for a while: the kernel no longer calls it, which
// costs more than most programs do. Programs at functions and events stay: to take one
// away the kernel waits for all that may be in it, and a call of a disabled one costs
// some 10 ns.
func (p *Probe) Detach(program string) error {
	other := p.hooks[program+second]
	if other != nil {
		if err := p.Detach(other.Name); err != nil {
			return err
		}
	}
	l := p.links[program]
	if hook := p.hooks[program]; l == nil || hook.Tracepoint == "" || hook.Spare && other == nil {
		return nil
	}
	delete(p.links, program)
	if err := l.Close(); err != nil {
		return fmt.Errorf("detaching from %s: %w", p.hooks[program].Hook(), err)
	}
	return nil
}

// Hooked names the programs that the kernel calls, attached or detached.
func (p *Probe) Hooked() []string { return p.programs }

// explain says what was attempted and what that lacks. The verifier's refusal of
// a program is a permission denied, too, to whoever may load programs.
func explain(attempted string, err error) error {
	// The loader tries again with a log when it cannot open a program, and then
	// has a log beside an error that is not the verifier's.
	if errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE) {
		return fmt.Errorf("%s: %w (%w)", attempted, ErrFiles, err)
	}
	var verifier *ebpf.VerifierError
	if errors.As(err, &verifier) && len(verifier.Log) > 0 {
		return fmt.Errorf("%s: %w (%w)", attempted, ErrRefused, err)
	}
	if errors.Is(err, os.ErrPermission) {
		return fmt.Errorf("%s: %w", attempted, &refusal{guards(host.Live(), err), err})
	}
	return fmt.Errorf("%s: %w", attempted, err)
}

// Hook is where a program is attached, as samples name it.
func (p *Probe) Hook(program string) string {
	if hook := p.hooks[program]; hook != nil {
		return hook.Hook()
	}
	return ""
}

// Missing names the tracepoints of optional programs that the kernel lacks.
func (p *Probe) Missing() []string { return p.missing }

// Lacks says what of optional programs and ways this kernel does not have.
func (p *Probe) Lacks() []string {
	var all []string
	for _, tracepoint := range p.missing {
		all = append(all, "the kernel has no tracepoint "+tracepoint)
	}
	for i := range p.ways {
		if w := &p.ways[i]; w.By == "" {
			all = append(all, notSeen(w))
		}
	}
	return all
}

func notSeen(w *sample.Way) string {
	return fmt.Sprintf("%s are not seen: %s", w.What, strings.Join(w.Rejected, "; "))
}

// Map is one of the object's maps; it must exist.
func (p *Probe) Map(name string) *ebpf.Map { return p.collection.Maps[name] }

// SetVariable sets a global variable of the running programs.
func (p *Probe) SetVariable(name string, value any) error {
	v := p.collection.Variables[name]
	if v == nil {
		return fmt.Errorf("setting %s: no such variable in the object", name)
	}
	return v.Set(value)
}

// Window is the number of the window in which programs count that keep figures of one
// window only: their variable "window", which begins with 1.
func (p *Probe) Window() uint32 { return p.window + 1 }

// EndWindow has these programs count in the next window.
func (p *Probe) EndWindow() error {
	p.window++
	return p.SetVariable("window", p.Window())
}

// Variable reads a global variable of the programs into what to points to.
func (p *Probe) Variable(name string, to any) error {
	v := p.collection.Variables[name]
	if v == nil {
		return fmt.Errorf("reading %s: no such variable in the object", name)
	}
	if err := v.Get(to); err != nil {
		return fmt.Errorf("reading %s: %w", name, err)
	}
	return nil
}

// Run runs a program of type "syscall" once.
func (p *Probe) Run(name string) error {
	prog := p.collection.Programs[name]
	if prog == nil {
		return fmt.Errorf("running %s: no such program in the object", name)
	}
	code, err := prog.Run(&ebpf.RunOptions{})
	if err != nil {
		return explain("running "+name, err)
	}
	if code != 0 {
		return fmt.Errorf("running %s: it returned %d", name, int32(code))
	}
	return nil
}

// enable lets the object's programs count from now on, or stops them. They
// are attached stopped, so that a window begins and ends at one instant.
func (p *Probe) enable(on bool) error {
	var n uint32
	if on {
		n = 1
	}
	return p.SetVariable("enabled", n)
}

// Counter reads a global u64 of the running programs.
func (p *Probe) Counter(name string) (uint64, error) {
	v := p.collection.Variables[name]
	if v == nil {
		return 0, fmt.Errorf("reading %s: no such variable in the object", name)
	}
	var n uint64
	if err := v.Get(&n); err != nil {
		return 0, fmt.Errorf("reading %s: %w", name, err)
	}
	return n, nil
}

// RunIterator runs an attached iterator to its end.
func (p *Probe) RunIterator(name string) error {
	it := p.iterators[name]
	if it == nil {
		return fmt.Errorf("running iterator %s: not attached", name)
	}
	r, err := it.Open()
	if err != nil {
		return fmt.Errorf("running iterator %s: %w", name, err)
	}
	_, err = io.Copy(io.Discard, r)
	return errors.Join(err, r.Close())
}

// Close detaches and unloads everything.
func (p *Probe) Close() error {
	var errs []error
	for _, l := range p.links {
		errs = append(errs, l.Close())
	}
	for _, c := range p.closers {
		errs = append(errs, c.Close())
	}
	p.cost.close()
	if p.collection != nil {
		p.collection.Close()
	}
	return errors.Join(errs...)
}
