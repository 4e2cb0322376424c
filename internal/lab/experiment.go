package lab

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"iocause/internal/ask"
	"iocause/internal/lab/load"
)

// Experiment is a row of phases on one set-up machine, measured each
// (docs/lab.md has the schema). A field that does not exist is an error.
type Experiment struct {
	Title    string               `yaml:"title"`
	About    string               `yaml:"about"`
	Requires []string             `yaml:"requires"`
	Files    map[string]load.Size `yaml:"files"`
	Setup    []Step               `yaml:"setup"`
	Phases   []Phase              `yaml:"phases"`
	Checks   []Check              `yaml:"checks"` // what must be so on any machine
	Repeat   int                  `yaml:"repeat"` // how often all of it is done; 1 by default
	Window   time.Duration        `yaml:"window"` // of the series; by default as long as suits each phase
}

// Phase is one thing to measure. It ends with the loads that are measured, or
// after Duration.
type Phase struct {
	Name     string        `yaml:"name"`
	Setup    []Step        `yaml:"setup"` // on top of the experiment's, for good
	Drop     []string      `yaml:"drop"`  // files that leave the page cache first
	Pressure []Load        `yaml:"pressure"`
	Loads    []Load        `yaml:"loads"`    // of kinds that do; measured
	Duration time.Duration `yaml:"duration"` // 1m by default
	Before   *Reference    `yaml:"reference"`
	// Unwatched leaves the diagnosis out: what it takes to start would slow a
	// phase of a second down, and it could say nothing of it.
	Unwatched bool `yaml:"unwatched"`
}

// Reference is what somebody else measured, to stand beside our figure.
type Reference struct {
	Rate float64 `yaml:"calls_per_second" json:"calls_per_second"`
	By   string  `yaml:"by" json:"by"`
}

// FindExperiment reads an experiment: a file that ends in .yaml, or one of those in
// shipped by its name.
func FindExperiment(shipped fs.FS, name string) (*Experiment, error) {
	content, err := fs.ReadFile(shipped, name+".yaml")
	if strings.HasSuffix(name, ".yaml") {
		content, err = os.ReadFile(name)
	}
	if err != nil {
		return nil, fmt.Errorf("finding the experiment: %w; see 'iocause lab run --list'", err)
	}
	x, err := ParseExperiment(name, content)
	if err != nil {
		return nil, &ask.Error{Err: err, Next: "correct that; docs/lab.md has the fields"}
	}
	return x, nil
}

// ParseExperiment reads an experiment. Errors name the file, the line and the field.
func ParseExperiment(name string, content []byte) (*Experiment, error) {
	x := &Experiment{}
	d := yaml.NewDecoder(bytes.NewReader(content))
	d.KnownFields(true)
	mistake := d.Decode(x)
	var root yaml.Node
	if err := yaml.Unmarshal(content, &root); err != nil {
		return nil, located(name, err)
	}
	if mistake != nil {
		if line, field := quotedIn(&root, "", mistake.Error()); line > 0 && !strings.Contains(mistake.Error(), "line ") {
			return nil, fmt.Errorf("%s:%d: %s: %w", name, line, field, mistake)
		}
		return nil, located(name, fieldsOf(&root, mistake))
	}
	if field, index, err := x.check(); err != nil {
		return nil, fmt.Errorf("%s:%d: %s: %w", name, lineOf(&root, field, index), field, err)
	}
	return x, nil
}

// fieldsOf adds to the decoder's "line 8: cannot unmarshal !!int `5` into
// time.Duration" the field that has the value.
func fieldsOf(root *yaml.Node, err error) error {
	var mistakes *yaml.TypeError
	if !errors.As(err, &mistakes) {
		return err
	}
	pattern := regexp.MustCompile("^(line (\\d+): )(cannot unmarshal !!\\S+ `(.*)` into )")
	named := &yaml.TypeError{}
	for _, line := range mistakes.Errors {
		if m := pattern.FindStringSubmatch(line); m != nil {
			if field := fieldAt(root, "", m[2], m[4]); field != "" {
				line = m[1] + field + ": " + strings.TrimPrefix(line, m[1])
			}
		}
		named.Errors = append(named.Errors, line)
	}
	return named
}

// fieldAt is the field with such a value in such a line, "" when there is none.
func fieldAt(n *yaml.Node, field, line, value string) string {
	if n.Kind == yaml.ScalarNode && n.Value == value && strconv.Itoa(n.Line) == line {
		return field
	}
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			field = c.Value
			continue
		}
		if found := fieldAt(c, field, line, value); found != "" {
			return found
		}
	}
	return ""
}

// quotedIn finds the value that an error quotes: sizes and times are read by
// types that know no lines.
func quotedIn(n *yaml.Node, field, message string) (line int, of string) {
	if n.Kind == yaml.ScalarNode && n.Value != "" && strings.Contains(message, strconv.Quote(n.Value)) {
		return n.Line, field
	}
	for i, c := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 {
			field = c.Value
			continue
		}
		if line, of := quotedIn(c, field, message); line > 0 {
			return line, of
		}
	}
	return 0, ""
}

// lineOf is the line of a top-level field, or of its index'th item.
func lineOf(root *yaml.Node, field string, index int) int {
	if len(root.Content) == 0 {
		return 1
	}
	top := root.Content[0]
	for i := 0; i+1 < len(top.Content); i += 2 {
		if key, value := top.Content[i], top.Content[i+1]; key.Value == field {
			if index < len(value.Content) && value.Kind == yaml.SequenceNode {
				return value.Content[index].Line
			}
			return key.Line
		}
	}
	return top.Line
}

// check refuses what the types cannot: the field, and which of its items.
func (x *Experiment) check() (field string, index int, err error) {
	switch {
	case x.Title == "":
		return "title", 0, errors.New("an experiment needs one")
	case len(x.Phases) == 0:
		return "phases", 0, errors.New("an experiment needs one at least")
	case x.Repeat < 0 || x.Repeat > 100:
		return "repeat", 0, fmt.Errorf("%d is not from 1 to 100", x.Repeat)
	case x.Window < 0 || x.Window > 0 && x.Window < LeastWindow:
		return "window", 0, fmt.Errorf("%v is less than %v", x.Window, LeastWindow)
	}
	x.Repeat = max(x.Repeat, 1)
	for i, r := range x.Requires {
		if !slices.Contains(Requirements(), r) {
			return "requires", i, fmt.Errorf("%q is not known; there are: %s", r, strings.Join(Requirements(), ", "))
		}
	}
	cgroups := map[string]bool{"": true}
	for i, s := range x.Setup {
		if s.Cgroup != nil {
			cgroups[s.Cgroup.Name] = true
		}
		if err := s.check(); err != nil {
			return "setup", i, err
		}
	}
	for i := range x.Phases {
		for _, s := range x.Phases[i].Setup {
			if err := s.check(); err != nil {
				return "phases", i, fmt.Errorf("setup: %w", err)
			}
			if s.Cgroup != nil {
				return "phases", i, errors.New("setup: a cgroup is made before the first phase, in the experiment's setup")
			}
		}
	}
	names := map[string]bool{}
	for i := range x.Phases {
		p := &x.Phases[i]
		if p.Duration == 0 {
			p.Duration = time.Minute
		}
		if p.Name == "" || names[p.Name] || len(p.Loads) == 0 || p.Duration < 0 {
			return "phases", i, errors.New("a phase needs a name of its own, loads and a duration above zero")
		}
		names[p.Name] = true
		for _, f := range p.Drop {
			if _, ok := x.Files[f]; !ok {
				return "phases", i, fmt.Errorf("drop: there is no file %q", f)
			}
		}
		for k, l := range slices.Concat(p.Pressure, p.Loads) {
			switch {
			case l.Name == "":
				return "phases", i, fmt.Errorf("load %d has no name", k+1)
			case l.Do == nil:
				return "phases", i, fmt.Errorf("load %s has no do", l.Name)
			case l.After < 0 || l.After > 0 && k >= len(p.Pressure):
				return "phases", i, fmt.Errorf("load %s: after is for pressure only, and not below zero", l.Name)
			case !cgroups[l.Cgroup]:
				return "phases", i, fmt.Errorf("load %s: there is no cgroup %q", l.Name, l.Cgroup)
			}
		}
	}
	for i := range x.Checks {
		if err := x.Checks[i].check(x.Phases); err != nil {
			return "checks", i, err
		}
	}
	return "", 0, nil
}

// Scale multiplies every size: of files, of memory limits, of loads. Sizes of
// files and loads stay multiples of 1 MiB, and at least that.
func (x *Experiment) Scale(by float64) {
	scale := func(s *load.Size) {
		if *s > 0 {
			*s = max(load.Size(float64(*s)*by)>>20, 1) << 20
		}
	}
	for name, size := range x.Files {
		scale(&size)
		x.Files[name] = size
	}
	for i := range x.Setup {
		x.Setup[i].scale(scale)
	}
	for i := range x.Phases {
		for k := range x.Phases[i].Setup {
			x.Phases[i].Setup[k].scale(scale)
		}
		for _, loads := range [][]Load{x.Phases[i].Pressure, x.Phases[i].Loads} {
			for k := range loads {
				scale(&loads[k].Do.Size)
				loads[k].Do.Count = int64(float64(loads[k].Do.Count) * by)
			}
		}
	}
}

func (s *Step) scale(scale func(*load.Size)) {
	switch {
	case s.Cgroup != nil:
		scale(&s.Cgroup.Memory)
	case s.Loop != nil:
		scale(&s.Loop.Size)
	case s.Sysctl != nil:
		scale(&s.Sysctl.Bytes)
	}
}

// Prolong lets the last phase, and what is measured in it, go on for so long. What
// its rate was to be held to says nothing any more.
func (x *Experiment) Prolong(length time.Duration) {
	last := &x.Phases[len(x.Phases)-1]
	last.Duration = length
	x.Checks = slices.DeleteFunc(x.Checks, func(c Check) bool { return c.Phase == last.Name || c.Against == last.Name })
	for i := range last.Loads {
		do := last.Loads[i].Do
		do.Duration, do.Count, do.Passes = length, 0, 0
	}
}
