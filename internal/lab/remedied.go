package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"strconv"
	"time"

	"iocause/internal/host"
	"iocause/internal/procfile"
)

// Remedy is what is done about a scenario's cause while it stands, and whose work
// tells whether it helps.
type Remedy struct {
	Do    string        `yaml:"do"`    // in words
	Of    string        `yaml:"of"`    // the load whose calls are its work
	Limit *CgroupStep   `yaml:"limit"` // other limits for a cgroup that is there
	Apart *Apart        `yaml:"apart"`
	Stop  string        `yaml:"stop"` // a load
	Set   []Step        `yaml:"set"`  // settings
	Wait  time.Duration `yaml:"wait"` // until what it does has come about; 3 s by default
}

// Apart puts a load into a memory cgroup of its own.
type Apart struct {
	Load   string     `yaml:"load"`
	Cgroup CgroupStep `yaml:"cgroup"`
}

// Work is what a load does.
type Work struct {
	Calls float64 // read and write calls a second
	Disk  float64 // bytes a second that come from disk for it
}

// Remedied is what a remedy gave.
type Remedied struct {
	Report       json.RawMessage // of the diagnosis
	Primary      string          // cause
	Do           string
	Before, With Work
}

// ErrNoRemedy is a scenario that has none.
var ErrNoRemedy = errors.New("it has no remedy that the lab can apply")

// measured is how long the work is counted, with and without the remedy.
const measured = 4 * time.Second

// check refuses a remedy that does nothing or names what is not there.
func (r *Remedy) check(s *Scenario) error {
	n := len(r.Set)
	for _, is := range []bool{r.Limit != nil, r.Apart != nil, r.Stop != ""} {
		if is {
			n++
		}
	}
	if n == 0 || r.Do == "" {
		return errors.New("remedy: it needs words (do) and something to do")
	}
	names := []string{r.Of}
	if r.Stop != "" {
		names = append(names, r.Stop)
	}
	if r.Apart != nil {
		names = append(names, r.Apart.Load)
	}
	for _, name := range names {
		if !s.has(name) {
			return fmt.Errorf("remedy: no load is called %q", name)
		}
	}
	for i := range r.Set {
		if err := r.Set[i].check(); err != nil {
			return fmt.Errorf("remedy: %w", err)
		}
	}
	return nil
}

// changes are the settings that it makes, none without one.
func (r *Remedy) changes() []Step {
	if r == nil {
		return nil
	}
	return r.Set
}

// has tells whether a load of that name is started at the beginning.
func (s *Scenario) has(name string) bool {
	for _, l := range s.Loads {
		if l.Name == name {
			return true
		}
	}
	return false
}

// Verify does it with the scenario of a name.
func Verify(ctx context.Context, h *host.Host, files fs.FS, name, dir string) (out *Remedied, err error) {
	chosen, err := Choose(files, "scenarios", "^"+regexp.QuoteMeta(name)+"$", false)
	if err != nil {
		return nil, err
	}
	s := chosen[0]
	if s.Remedy == nil {
		return nil, ErrNoRemedy
	}
	if lacks := LacksAny(h, s.Requires); lacks != "" {
		return nil, errors.New(lacks)
	}
	r, err := NewOwnRunner(h, dir)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	return r.Verify(ctx, s)
}

// Verify sets a scenario up, has it diagnosed, applies its remedy, measures the work
// with and without it, and takes everything down.
func (r *Runner) Verify(ctx context.Context, s *Scenario) (*Remedied, error) {
	out := &Remedied{Do: s.Remedy.Do}
	o, err := r.run(ctx, s, func(st *situation) (err error) {
		if out.Before, err = st.work(ctx); err != nil {
			return err
		}
		if err := st.remedy(ctx); err != nil {
			return fmt.Errorf("%s: %w", s.Remedy.Do, err)
		}
		out.With, err = st.work(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	if len(o.Unreal) > 0 {
		return nil, fmt.Errorf("the situation did not come about: %s", o.Unreal[0])
	}
	out.Report, out.Primary = o.Report, o.Verdict.Primary
	return out, nil
}

// work measures the load.
func (st *situation) work(ctx context.Context) (w Work, err error) {
	of := st.scenario.Remedy.Of
	file := st.host.Proc(strconv.Itoa(st.loads[of].PID), "io")
	a, err := procfile.ReadIO(file)
	if err != nil {
		return w, fmt.Errorf("counting the calls of %s: %w", of, err)
	}
	began := time.Now()
	if err := Sleep(ctx, measured); err != nil {
		return w, err
	}
	b, err := procfile.ReadIO(file)
	if err != nil {
		return w, fmt.Errorf("counting the calls of %s: %w", of, err)
	}
	seconds := time.Since(began).Seconds()
	return Work{float64(b.ReadCalls+b.WriteCalls-a.ReadCalls-a.WriteCalls) / seconds, float64(b.ReadBytes-a.ReadBytes) / seconds}, nil
}

// remedy applies it, and waits.
func (st *situation) remedy(ctx context.Context) error {
	r := st.scenario.Remedy
	if r.Limit != nil {
		c := st.cgroups[r.Limit.Name]
		if c == nil {
			return fmt.Errorf("no cgroup is called %q", r.Limit.Name)
		}
		if err := c.Limit(st.limits(r.Limit)); err != nil {
			return err
		}
	}
	if r.Apart != nil {
		c, err := st.env.Cgroup(r.Apart.Cgroup.Name, st.limits(&r.Apart.Cgroup))
		if err != nil {
			return err
		}
		if err := c.Join(st.loads[r.Apart.Load].PID); err != nil {
			return err
		}
	}
	if r.Stop != "" {
		if err := st.loads[r.Stop].Stop(8 * time.Second); err != nil {
			return err
		}
	}
	for i := range r.Set {
		if err := st.take(ctx, &r.Set[i]); err != nil {
			return err
		}
	}
	wait := r.Wait
	if wait == 0 {
		wait = 3 * time.Second
	}
	return Sleep(ctx, wait)
}
