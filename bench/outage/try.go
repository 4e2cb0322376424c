package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// plan says how long the engine is there, away, and there again.
type plan struct{ before, outage, after time.Duration }

// rolledUp marks the names of series of the coarser tiers, which are not sent.
const rolledUp = ":"

// outcome is what one engine has in the end of what the agent recorded.
type outcome struct {
	series, recorded, arrived, missing, twice, strange int
	// behind is how long after its return the engine had all that was recorded
	// before.
	behind time.Duration
	odd    string // one value that is not as it should be
	notes  string // what the agents logged
}

var errNotOnce = errors.New("not every value arrived once")

func (o *outcome) wrong() error {
	if o.missing+o.twice+o.strange > 0 || o.recorded == 0 {
		return fmt.Errorf("%w: %d of %d missing, %d twice, %d not as recorded; %s\n%s", errNotOnce, o.missing, o.recorded, o.twice, o.strange, o.odd, o.notes)
	}
	return nil
}

// catchUp is how long all may take to arrive: the agent tries at least once a
// minute, and a busy machine is slow.
const catchUp = 3 * time.Minute

func (p plan) try(ctx context.Context, e engine) (out outcome, err error) {
	dir, err := os.MkdirTemp(scratch(), "iocause-outage-")
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	to, err := free()
	if err != nil {
		return out, err
	}
	own, err := free()
	if err != nil {
		return out, err
	}
	config := filepath.Join(dir, "agent.yaml")
	settings := fmt.Sprintf("dir: %s/recording\nlisten: %s\nlimits: {cpu: 100%%}\nremote_write: {url: \"http://%s/api/v1/write\", every: 1s, labels: {instance: here}}\n", dir, own, to)
	if err := errors.Join(os.WriteFile(config, []byte(settings), 0o600), os.WriteFile(filepath.Join(dir, "config.yaml"), nil, 0o600)); err != nil {
		return out, err
	}
	self, err := os.Executable()
	if err != nil {
		return out, err
	}
	var engine, agent *process
	defer func() {
		for _, x := range []*process{agent, engine} {
			err = errors.Join(err, x.end(syscall.SIGTERM))
		}
	}()
	if engine, err = start(e.path, e.args(dir, to)...); err != nil {
		return out, err
	}
	if agent, err = start(self, asAgent, config); err != nil {
		return out, err
	}
	began := time.Now()
	// the agent is killed halfway through the outage: how far it came is known
	// from its recording's directory only
	notes := agent.notes
	for _, step := range []struct {
		wait time.Duration
		do   func() error
	}{
		{p.before, func() error { return arrived(ctx, to) }},
		{0, func() error { return engine.end(syscall.SIGTERM) }},
		{p.outage / 2, func() error { return agent.end(syscall.SIGKILL) }},
		{0, func() (err error) { agent, err = start(self, asAgent, config); return err }},
		{p.outage - p.outage/2, func() (err error) { engine, err = start(e.path, e.args(dir, to)...); return err }},
	} {
		if !sleep(ctx, step.wait) {
			return out, context.Cause(ctx)
		}
		if err := step.do(); err != nil {
			return out, err
		}
	}
	back := time.Now()
	for _, more := range []time.Duration{0, p.after} {
		end := back.Add(more)
		if !sleep(ctx, time.Until(end)) {
			return out, context.Cause(ctx)
		}
		caught := out.behind
		if out, err = compare(ctx, own, to, began, end, func() bool { return time.Since(end) > catchUp }); err != nil {
			return out, err
		}
		if out.behind = caught; more == 0 {
			out.behind = time.Since(back)
		}
		if p.after == 0 {
			break
		}
	}
	out.notes = notes.String() + agent.notes.String()
	return out, nil
}

// scratch is where files go that are not wanted afterwards.
func scratch() string {
	if dir := os.Getenv("BENCH_DIR"); dir != "" {
		return dir
	}
	return "/var/tmp"
}

// arrived waits until the engine has anything.
func arrived(ctx context.Context, at string) error {
	for began := time.Now(); ; {
		got, err := values(ctx, at, "iocause_cpus", began.Add(-time.Hour), time.Now())
		if err == nil && len(got) > 0 {
			return nil
		}
		if time.Since(began) > catchUp {
			return fmt.Errorf("nothing arrives: %w", errors.Join(err, errNotOnce))
		}
		if !sleep(ctx, 200*time.Millisecond) {
			return context.Cause(ctx)
		}
	}
}

// compare holds what an engine has of a time against the agent's recording,
// again and again until all is well or it has taken too long.
func compare(ctx context.Context, own, to string, began, end time.Time, late func() bool) (outcome, error) {
	for {
		out, err := compareOnce(ctx, own, to, began, end)
		if late() || err == nil && out.wrong() == nil {
			return out, err
		}
		if !sleep(ctx, 200*time.Millisecond) {
			return out, context.Cause(ctx)
		}
	}
}

func compareOnce(ctx context.Context, own, to string, began, end time.Time) (out outcome, err error) {
	var names []string
	if err := ask(ctx, own, "label/__name__/values", nil, &names); err != nil {
		return out, err
	}
	for _, name := range names {
		if strings.Contains(name, rolledUp) {
			continue
		}
		recorded, err := values(ctx, own, name, began, end)
		if err != nil {
			return out, err
		}
		got, err := values(ctx, to, name, began, end)
		if err != nil {
			return out, err
		}
		seen := map[string]bool{}
		for at, want := range recorded {
			line, _, _ := strings.Cut(at, " @ ")
			if !seen[line] {
				seen[line] = true
				out.series++
			}
			out.recorded++
			switch have := got[at]; {
			case len(have) == 0:
				out.missing++
				out.odd = "missing: " + at
			case len(have) > 1:
				out.twice++
				out.odd = "twice: " + at
			case math.Abs(have[0]-want[0]) > precision*math.Abs(want[0]):
				out.strange++
				out.odd = fmt.Sprintf("%s is %v, not %v", at, have[0], want[0])
			default:
				out.arrived++
			}
		}
		for at := range got {
			if len(recorded[at]) == 0 {
				out.strange++
				out.odd = "never recorded: " + at
			}
		}
	}
	return out, nil
}

// precision is how far a value may be off: victoria-metrics keeps decimals.
const precision = 1e-9

// values are those of a metric between two times, by series and instant.
func values(ctx context.Context, at, name string, began, end time.Time) (map[string][]float64, error) {
	var got struct {
		Result []struct {
			Metric map[string]string
			Values [][2]any
		}
	}
	q := url.Values{
		"query": {fmt.Sprintf("%s[%dms]", name, end.Sub(began).Milliseconds())},
		"time":  {strconv.FormatFloat(float64(end.UnixMilli())/1000, 'f', 3, 64)},
	}
	if err := ask(ctx, at, "query", q, &got); err != nil {
		return nil, err
	}
	all := map[string][]float64{}
	for _, line := range got.Result {
		var labels []string
		for k, v := range line.Metric {
			if k != "instance" {
				labels = append(labels, fmt.Sprintf("%s=%q", k, v))
			}
		}
		slices.Sort(labels)
		for _, v := range line.Values {
			seconds, _ := v[0].(float64)
			text, _ := v[1].(string)
			value, err := strconv.ParseFloat(text, 64)
			if err != nil {
				return nil, fmt.Errorf("reading the values of %s: %w", name, err)
			}
			key := fmt.Sprintf("%s @ %.3f", strings.Join(labels, ","), seconds)
			all[key] = append(all[key], value)
		}
	}
	return all, nil
}

// ask asks the query API of Prometheus, which the agent and both engines have.
func ask(ctx context.Context, at, what string, q url.Values, to any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+at+"/api/v1/"+what+"?"+q.Encode(), nil)
	if err != nil {
		return fmt.Errorf("asking %s: %w", at, err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("asking %s: %w", at, err)
	}
	defer resp.Body.Close()
	answer := struct {
		Status, Error string
		Data          any
	}{Data: to}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return fmt.Errorf("reading what %s answers: %w", at, err)
	}
	if answer.Status != "success" {
		return fmt.Errorf("asking %s for %s: %s", at, what, answer.Error)
	}
	return nil
}

func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
	return ctx.Err() == nil
}
