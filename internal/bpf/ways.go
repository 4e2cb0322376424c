package bpf

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"iocause/internal/sample"
)

// Ways of observing the same, as IOCAUSE_HOOKS and check name them.
const (
	ByTracepoint = "tracepoint"
	ByFunction   = "function"
	ByKprobe     = "kprobe"
)

// HooksVariable is the environment variable that has ways taken which are not the
// first: "function" for everything, or "reads=function,requests=getrq"; and what
// older kernels lack not used: "without-storage". It is for tests of ways, on
// kernels that offer several.
const HooksVariable = "IOCAUSE_HOOKS"

// Capability is what can be observed in several ways. The first way is taken
// that the kernel's types show, that attaches, and that the proof confirms.
type Capability struct {
	Name     string // "reads"
	Ways     []Way  // the best first
	Optional bool   // the probe is of use without it
	// Prove makes events of which it knows the number, at functions only: those
	// may be inlined, or mean something else than they did. It returns what it
	// did, for people. nil: attached is all that is known.
	Prove func(*Probe) (string, error)
}

// Way is one of them.
type Way struct {
	By        string         // ByTracepoint, ByFunction, ByKprobe or a name of its own
	Grade     string         // how exact; "exact" where it is ""
	Programs  []Program      // all or none
	Constants map[string]any // of the object, where this way is taken
}

// hookError is the failure of one program of several.
type hookError struct {
	program string
	event   bool
	err     error
}

func (e *hookError) Error() string { return e.err.Error() }
func (e *hookError) Unwrap() error { return e.err }

// blame finds the program that the loader could not load: its error begins with
// the name, behind what was attempted.
func blame(programs []Program, err error) error {
	for i := range programs {
		if strings.Contains(err.Error(), "program "+programs[i].Name+":") {
			return &hookError{programs[i].Name, programs[i].Event != "", err}
		}
	}
	return err
}

// choice is how far the ways of a capability have been tried.
type choice struct {
	*Capability
	left   []Way    // the first is the one to be tried
	absent []string // ways that this kernel has not
	failed []string // ways that were tried
	last   error    // why the way before was left
	proof  string
}

func (c *choice) has(program string) bool {
	return len(c.left) > 0 && slices.ContainsFunc(c.left[0].Programs, func(p Program) bool { return p.Name == program })
}

// reject goes on with the next way. That a program at a function may not be loaded
// is the kernel's choice: this process may load programs, or it had not come here.
func (c *choice) reject(why error) {
	w := &c.left[0]
	if w.atFunctions() && errors.Is(why, ErrNotPermitted) {
		why = fmt.Errorf("%w: it refuses to attach programs to its functions", ErrNotSupported)
	}
	c.failed = append(c.failed, fmt.Sprintf("%s: %v", hooksOf(w)[0], why))
	c.last = why
	c.left = c.left[1:]
}

// atFunctions tells that it has to be proved.
func (w *Way) atFunctions() bool { return w.By == ByFunction || w.By == ByKprobe }

func hooksOf(w *Way) []string {
	var all []string
	for i := range w.Programs {
		all = append(all, w.Programs[i].Hook())
	}
	return all
}

// OpenWays is Open for a probe that observes something in one of several ways.
// programs are what it has in any case; none is loaded late.
func OpenWays(spec *ebpf.CollectionSpec, programs []Program, capabilities []Capability, constants map[string]any) (*Probe, error) {
	return openWays(func(without []string) (*ebpf.CollectionSpec, error) { return copyWithout(spec, without), nil }, false, programs, capabilities, constants)
}

// openWays is OpenWays of an object that is read for it, where programs can be loaded late.
func openWays(read object, late bool, programs []Program, capabilities []Capability, constants map[string]any) (*Probe, error) {
	types, err := prepared()
	if err != nil {
		return nil, err
	}
	forced, without, err := parseForced(capabilities, os.Getenv(HooksVariable))
	if err != nil {
		return nil, err
	}
	fit, err := fitFor(types, without)
	if err != nil {
		return nil, err
	}
	if late && slices.ContainsFunc(programs, func(p Program) bool { return p.Late }) {
		fit.again = read
		fit.parts = slices.ContainsFunc(programs, func(p Program) bool { return p.Late && p.After == "" })
	}
	p, err := openBy(types, fit, read, programs, capabilities, forced, constants)
	var hook *hookError
	if errors.As(err, &hook) && hook.event {
		fit.refused = err
		return openBy(types, fit, read, programs, capabilities, forced, constants)
	}
	return p, err
}

// openBy is OpenWays on a kernel of which it is known what it lacks.
func openBy(types *Types, fit *fit, read object, programs []Program, capabilities []Capability, forced map[string]string, constants map[string]any) (*Probe, error) {
	programs, capabilities, unused := inPlace(fit.events(), programs, capabilities)
	choices, err := choose(types, capabilities, forced)
	if err != nil {
		return nil, err
	}
	for {
		p, culprit, err := attempt(types, fit, read, unused, programs, choices, constants)
		if err == nil {
			for _, c := range choices {
				p.ways = append(p.ways, c.told())
			}
			told, err := fit.tell(read)
			if err != nil {
				return nil, errors.Join(err, p.Close())
			}
			p.ways = append(p.ways, told...)
			return p, nil
		}
		var hook *hookError
		if culprit == nil || errors.As(err, &hook) && hook.event {
			return nil, err
		}
		refused := culprit.left[0].By == ByFunction && (errors.Is(err, ebpf.ErrNotSupported) || errors.Is(err, ErrNotPermitted))
		culprit.reject(err)
		for _, c := range choices { // what refuses one function refuses all: each try loads everything anew
			for refused && len(c.left) > 0 && c.left[0].By == ByFunction {
				c.reject(err)
			}
			if err := c.exhausted(); err != nil {
				return nil, err
			}
		}
	}
}

// exhausted is an error where no way is left to what the probe cannot do without.
func (c *choice) exhausted() error {
	if len(c.left) > 0 || c.Optional {
		return nil
	}
	return &noWay{c.Name, slices.Concat(c.absent, c.failed), c.last}
}

// noWay is the failure of all ways.
type noWay struct {
	what string
	why  []string
	last error
}

func (e *noWay) Error() string {
	return fmt.Sprintf("counting %s: %v: %s", e.what, ErrNotSupported, strings.Join(e.why, "; "))
}
func (e *noWay) Unwrap() error { return e.last }

// attempt opens the probe with the first way of each capability. Where that fails
// because of one of them, it is the culprit.
func attempt(types *Types, fit *fit, read object, unused []string, programs []Program, choices []*choice, constants map[string]any) (*Probe, *choice, error) {
	unused, programs, constants = slices.Clone(unused), slices.Clone(programs), maps.Clone(constants)
	if constants == nil {
		constants = map[string]any{}
	}
	for _, c := range choices {
		for w := range c.Ways {
			for i := range c.Ways[w].Programs {
				if p := &c.Ways[w].Programs[i]; !c.has(p.Name) {
					unused = append(unused, p.Name)
				}
			}
		}
		if len(c.left) > 0 {
			programs = append(programs, c.left[0].Programs...)
			maps.Copy(constants, c.left[0].Constants)
		}
	}
	for i := range programs {
		if programs[i].Late && fit.again != nil {
			unused = append(unused, programs[i].Name)
		}
	}
	spec, err := read(unused)
	if err != nil {
		return nil, nil, err
	}
	if spec.Variables["by_events"] != nil && fit.events() {
		constants["by_events"] = uint32(1)
	}
	p, err := load(types, fit, spec, programs, constants)
	var hook *hookError
	if errors.As(err, &hook) {
		for _, c := range choices {
			if c.has(hook.program) {
				return nil, c, err
			}
		}
	}
	if err != nil {
		return nil, nil, err
	}
	for _, c := range choices {
		if c.proof = ""; len(c.left) == 0 || !c.left[0].atFunctions() || c.Prove == nil {
			continue
		}
		if c.proof, err = c.Prove(p); err != nil {
			return nil, c, errors.Join(err, p.Close())
		}
	}
	return p, nil, nil
}

// copyWithout is a copy of an object that lacks some programs.
func copyWithout(spec *ebpf.CollectionSpec, programs []string) *ebpf.CollectionSpec {
	own := &ebpf.CollectionSpec{
		Maps: map[string]*ebpf.MapSpec{}, Programs: map[string]*ebpf.ProgramSpec{}, Variables: map[string]*ebpf.VariableSpec{},
		Types: spec.Types, ByteOrder: spec.ByteOrder,
	}
	for name, m := range spec.Maps {
		own.Maps[name] = m.Copy()
	}
	for name, v := range spec.Variables {
		own.Variables[name] = v.Copy()
	}
	for name, p := range spec.Programs {
		if !slices.Contains(programs, name) {
			own.Programs[name] = p.Copy()
		}
	}
	return own
}

// told is what was chosen, for people.
func (c *choice) told() sample.Way {
	w := sample.Way{What: c.Name, Rejected: c.failed, Proof: c.proof}
	if len(c.left) == 0 {
		w.Rejected = slices.Concat(c.absent, c.failed)
		return w
	}
	w.By, w.Grade, w.Hooks = c.left[0].By, c.left[0].Grade, hooksOf(&c.left[0])
	if w.Grade == "" {
		w.Grade = "exact"
	}
	return w
}

// Ways says how each capability is observed, in the order of OpenWays.
func (p *Probe) Ways() []sample.Way { return p.ways }

// choose leaves the ways that the kernel's types show, and that force, the way of
// a capability as IOCAUSE_HOOKS has it, does not forbid.
func choose(types *Types, capabilities []Capability, force map[string]string) ([]*choice, error) {
	var all []*choice
	for i := range capabilities {
		c := &choice{Capability: &capabilities[i]}
		for _, w := range c.Ways {
			if by := force[c.Name]; by != "" && by != w.By {
				continue
			}
			if err := types.shows(&w); err != nil {
				c.absent = append(c.absent, err.Error())
				c.last = ErrNotSupported
				continue
			}
			c.left = append(c.left, w)
		}
		if err := c.exhausted(); err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	return all, nil
}

// shows tells why a way is out of the question, or nil.
func (t *Types) shows(w *Way) error {
	for i := range w.Programs {
		p := &w.Programs[i]
		var n int
		var err error
		switch {
		case p.tracepoint() != "":
			n, err = t.TracepointArguments(p.tracepoint())
		case p.Exit != "" && !t.hasStruct("bpf_tramp_image"):
			// Before e21aa341785c (5.12) taking the program away could crash a
			// kernel in which the function slept.
			return fmt.Errorf("%s: not safe in this kernel, which frees the trampoline of a function that still runs", p.Hook())
		default:
			n, err = t.FunctionArguments(p.function())
		}
		switch {
		case err != nil:
			return fmt.Errorf("%s: not in this kernel", p.Hook())
		case p.Arguments != 0 && n != p.Arguments:
			return fmt.Errorf("%s: has %d arguments, not %d", p.Hook(), n, p.Arguments)
		}
	}
	return nil
}

// parseForced reads IOCAUSE_HOOKS: the way of each capability that is forced, and
// what programs are to do without. A capability that has no such way keeps its own.
func parseForced(capabilities []Capability, text string) (force map[string]string, without lack, err error) {
	force = map[string]string{}
	if text == "" {
		return force, 0, nil
	}
	for _, part := range strings.Split(text, ",") {
		if lack, ok := lackNamed(part); ok {
			without |= lack
			continue
		}
		name, by, isOne := strings.Cut(part, "=")
		if !isOne {
			name, by = "", name
		}
		if by != ByTracepoint && by != ByFunction && by != ByKprobe && by != ByRequest {
			return nil, 0, fmt.Errorf("%s=%q: want tracepoint, function, kprobe or getrq, reads=function,requests=getrq, or without-storage", HooksVariable, text)
		}
		for i := range capabilities {
			c := &capabilities[i]
			if (name == "" || name == c.Name) && slices.ContainsFunc(c.Ways, func(w Way) bool { return w.By == by }) {
				force[c.Name] = by
			}
		}
	}
	return force, without, nil
}

// Runs tells how often each program was called while f ran; nil where that may
// not be asked (it takes CAP_SYS_ADMIN).
func (p *Probe) Runs(f func() error) (map[string]uint64, error) {
	stats, err := ebpf.EnableStats(uint32(unix.BPF_STATS_RUN_TIME))
	if errors.Is(err, os.ErrPermission) {
		return nil, f()
	}
	if err != nil {
		return nil, fmt.Errorf("counting the runs of kernel programs: %w", err)
	}
	defer stats.Close()
	runs := map[string]uint64{}
	err = p.eachStats(func(name string, s *ebpf.ProgramStats) { runs[name] = -s.RunCount })
	err = errors.Join(err, f(), p.eachStats(func(name string, s *ebpf.ProgramStats) { runs[name] += s.RunCount }))
	return runs, err
}
