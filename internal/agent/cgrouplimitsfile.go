package agent

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"iocause/internal/store/frames"
	"iocause/internal/store/whole"
)

// What is known of the limits of cgroups outlives the agent, in a file of its
// folder: a line of text and one record (docs/incidents.md) with savedLimits.
const (
	limitsFile  = "limits"
	limitsMagic = "iocause-limits 1\n"
	limitsMost  = 64 << 20 // bytes that are believed

	limitsSavedEvery  = time.Hour        // kept at the latest
	limitsSavedTurned = 10 * time.Minute // and where a limit began to hold or ceased to
)

// errLimits is a file that does not hold what is known of limits.
var errLimits = errors.New("it is damaged, or not a file of limits of iocause")

// savedLimits is cgroupLimits as it is kept; times are Unix seconds. Names are bytes: those
// of cgroups need not be UTF-8.
type savedLimits struct {
	Cgroups []savedCgroup `json:"cgroups"`
	Limits  []savedLimit  `json:"limits"`
}

type savedCgroup struct {
	Name   []byte `json:"name"`
	First  int64  `json:"first"`
	Newest int64  `json:"newest"`
}

type savedLimit struct {
	Kind   string `json:"kind"`
	Cgroup []byte `json:"cgroup"`
	What   []byte `json:"what"`
	Tell   bool   `json:"tell"`
	Began  int64  `json:"began"`
	Ended  int64  `json:"ended"` // of one that held: when it was kept
}

// due tells whether it is time to keep what is known, and takes it for done. Of
// nil there is nothing to keep.
func (c *cgroupLimits) due(now time.Time) bool {
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	age := now.Sub(c.kept).Abs()
	if age < limitsSavedTurned || age < limitsSavedEvery && !c.turned {
		return false
	}
	c.kept, c.turned = now, false
	return true
}

// keep writes what is known into a folder, in place of what is there.
func (c *cgroupLimits) keep(dir string, now time.Time) error {
	b, err := json.Marshal(c.toKeep(now))
	if err != nil {
		return fmt.Errorf("saving which limits are reached: %w", err)
	}
	path := filepath.Join(dir, limitsFile)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("saving which limits are reached: %w", err)
	}
	if err := whole.Write(path, 0o600, whole.Bytes(frames.Append([]byte(limitsMagic), b))); err != nil {
		return fmt.Errorf("saving which limits are reached: %w", err)
	}
	return nil
}

func (c *cgroupLimits) toKeep(now time.Time) *savedLimits {
	c.mu.Lock()
	defer c.mu.Unlock()
	k := &savedLimits{}
	for name, first := range c.first {
		k.Cgroups = append(k.Cgroups, savedCgroup{[]byte(name), first.Unix(), c.newest[name].Unix()})
	}
	slices.SortFunc(k.Cgroups, func(a, b savedCgroup) int { return cmp.Compare(string(a.Name), string(b.Name)) })
	for of, s := range c.known {
		x := savedLimit{Kind: of.kind, Cgroup: []byte(of.cgroup), What: []byte(of.what), Tell: s.tell, Began: s.began.Unix(), Ended: s.ended.Unix()}
		if s.on {
			x.Ended = now.Unix()
		} else if s.ended.IsZero() {
			continue // it never held for long enough
		}
		k.Limits = append(k.Limits, x)
	}
	slices.SortFunc(k.Limits, func(a, b savedLimit) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(string(a.Cgroup), string(b.Cgroup)), cmp.Compare(string(a.What), string(b.What)))
	})
	return k
}

// restore goes on with what was kept in a folder. A limit that held then has to
// hold anew, and is news no more than it was.
func (c *cgroupLimits) restore(dir string, now time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.kept = now
	k, err := readLimits(filepath.Join(dir, limitsFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading which limits were reached: %w", err)
	}
	for _, g := range k.Cgroups {
		c.first[string(g.Name)], c.newest[string(g.Name)] = time.Unix(g.First, 0), time.Unix(g.Newest, 0)
	}
	for _, x := range k.Limits {
		c.known[limitKey{x.Kind, string(x.Cgroup), string(x.What)}] = &limitState{tell: x.Tell, began: time.Unix(x.Began, 0), ended: time.Unix(x.Ended, 0)}
	}
	return nil
}

func readLimits(path string) (*savedLimits, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.Size() > limitsMost {
		return nil, fmt.Errorf("%s: %w", path, errLimits)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	k, whole := &savedLimits{}, 0
	if len(b) < len(limitsMagic) || string(b[:len(limitsMagic)]) != limitsMagic {
		return nil, fmt.Errorf("%s: %w", path, errLimits)
	}
	lost := frames.Read(b[len(limitsMagic):], int64(len(limitsMagic)), func(payload []byte) {
		if json.Unmarshal(payload, k) == nil {
			whole++
		}
	})
	if whole != 1 || len(lost) > 0 {
		return nil, fmt.Errorf("%s: %w", path, errLimits)
	}
	return k, nil
}
