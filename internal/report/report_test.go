package report

import (
	"strings"
	"testing"
	"time"

	"iocause/internal/diagnose"
	"iocause/internal/picture"
	"iocause/internal/replay"
)

const golden = "../cli/testdata/golden/"

func opener(t *testing.T) *replay.Opener {
	return &replay.Opener{Dir: golden + "agent", Program: "test", Now: time.Now, Note: func(err error) { t.Log(err) }}
}

func page(t *testing.T, name string) *picture.Page {
	t.Helper()
	p, err := Of(opener(t), Ask{Name: name, Interval: &replay.Interval{}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// A recording has its verdict and the course of what led to it.
func TestOfARecording(t *testing.T) {
	p := page(t, golden+"host.iocause")
	if p.Report.Primary != "cgroup-cache-limit" || len(p.Sets) != 1 || p.Of != "the recording host.iocause" {
		t.Fatalf("%s, %d sets, of %s", p.Report.Primary, len(p.Sets), p.Of)
	}
	keys := map[string]bool{}
	for _, c := range p.Sets[0].Charts {
		keys[c.Key] = true
		if c.Source == "" || len(c.Lines) == 0 || len(c.Lines[0].Values) != len(p.Sets[0].Begin) {
			t.Errorf("chart %s: source %q, %d lines", c.Key, c.Source, len(c.Lines))
		}
	}
	for _, want := range []string{"waiting:victim", "waiting:who", "device:vda:users", "device:vda:latency", "cache:hits", "memory", "pressure", "cpu"} {
		if !keys[want] {
			t.Errorf("no chart %s", want)
		}
	}
	if len(p.Sets[0].Heats) == 0 || p.Sets[0].Heats[0].Op != "read" || p.Sets[0].Uses["vda"] == nil {
		t.Error("no heat map of reads of vda, or it is not known who used it")
	}
	var titles []string
	for _, x := range p.Tables {
		titles = append(titles, x.Title)
	}
	if !strings.HasPrefix(strings.Join(titles, ", "), "Who waits, Utilisation, saturation, errors, block devices") {
		t.Errorf("tables: %q", titles)
	}
}

// An incident has its evidence besides: each I/O, and where threads waited.
func TestOfAnIncident(t *testing.T) {
	p := page(t, golden+"agent/incidents/000001.iocause")
	if p.Report == nil || p.Incident == nil || p.Host != "db1" || p.Of != "incident 1" {
		t.Fatalf("%+v", p)
	}
	if len(p.Profiles) != 2 || p.Profiles[0].Title != "Where threads wait" {
		t.Errorf("%d profiles", len(p.Profiles))
	}
	last := p.Sets[len(p.Sets)-1]
	count := uint64(0)
	for _, h := range last.Heats {
		count += h.Count
	}
	if count != 1500 || !strings.HasPrefix(last.Title, "Every I/O, 1500") {
		t.Errorf("%q has %d I/Os, want all 1500 of the trace", last.Title, count)
	}
}

func TestOfWhatIsNotThere(t *testing.T) {
	for name, want := range map[string]string{"nothing.iocause": "opening the recording", "../../go.mod": "give a file of 'iocause record'", "99": "there is no such incident"} {
		if _, err := Of(opener(t), Ask{Name: name, Interval: &replay.Interval{}}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	if _, err := Of(opener(t), Ask{Name: golden + "host.iocause", Interval: &replay.Interval{}, Target: diagnose.Target{Comm: "nobody"}}); err == nil || !strings.Contains(err.Error(), "nobody") {
		t.Errorf("of a program that is not in it: %v", err)
	}
}
