package agent

import (
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"iocause/internal/host"
	"iocause/internal/store/series"
)

// shown are series as a scraper reads them, without comments.
func shown(t *testing.T, values []series.Value) string {
	t.Helper()
	all := map[*series.Series]at{}
	for _, v := range values {
		all[v.Of] = at{value: v.V}
	}
	var b strings.Builder
	if err := writeText(&b, all); err != nil {
		t.Fatal(err)
	}
	var out []string
	for line := range strings.Lines(b.String()) {
		if !strings.HasPrefix(line, "#") {
			out = append(out, strings.TrimSpace(line))
		}
	}
	return strings.Join(out, "\n")
}

// What a report says becomes series, without any name in them; they go when the
// next report, the end of the incident or the age of a look says so.
func TestVerdictsAreTold(t *testing.T) {
	now := time.Unix(1_790_000_000, 0)
	v := &verdicts{now: func() time.Time { return now }}
	v.set(json.RawMessage(`{"primary":"cgroup-io-throttle","findings":[
		{"cause":"cgroup-io-throttle","weight":0.75,"confidence":0.875,"culprit":{"comm":"pay\"roll","cgroup":"/kubepods/pod-1b2c3d4e5f60/app"}},
		{"cause":"device-queueing","weight":0.5,"confidence":0.5,"culprit":{"device":"nvme0n1"}}]}`), ofIncident)
	values, ended := v.take()
	cgroup, device := hashed("cgroup", "/kubepods/pod-#/app"), hashed("device", "nvme#n#")
	want := `iocause_finding{cause="cgroup-io-throttle",culprit="` + cgroup + `",culprit_kind="cgroup",of="incident",rank="primary"} 0.75
iocause_finding{cause="device-queueing",culprit="` + device + `",culprit_kind="device",of="incident",rank="contributing"} 0.5
iocause_finding_confidence_ratio{cause="cgroup-io-throttle",culprit="` + cgroup + `",culprit_kind="cgroup",of="incident",rank="primary"} 0.875
iocause_finding_confidence_ratio{cause="device-queueing",culprit="` + device + `",culprit_kind="device",of="incident",rank="contributing"} 0.5`
	if got := shown(t, values); got != want || len(ended) != 0 {
		t.Errorf("%s\nwant\n%s\n(%d ended)", got, want, len(ended))
	}
	first := values[0].Of
	if again, _ := v.take(); again[0].Of != first {
		t.Error("a series that goes on is begun anew")
	}
	v.end()
	if values, ended = v.take(); len(values) != 0 || len(ended) != 4 {
		t.Errorf("after the end %d values, %d ended", len(values), len(ended))
	}
	v.set(json.RawMessage(`{"primary":"healthy","findings":[]}`), ofLook)
	if values, _ = v.take(); shown(t, values) != `iocause_finding{cause="healthy",of="look",rank="primary"} 0` {
		t.Error(shown(t, values))
	}
	now = now.Add(lookStands + time.Second)
	if values, ended = v.take(); len(values) != 0 || len(ended) != 1 {
		t.Errorf("a look of hours ago is told: %s", shown(t, values))
	}
	v.set(nil, ofLook)
	if values, _ = v.take(); len(values) != 0 {
		t.Errorf("a look that was stopped is told: %s", shown(t, values))
	}
}

// One program has one hash, whatever number it was started with; another one
// has another.
func TestCulpritsOfOneKindAreOne(t *testing.T) {
	same := culprit("noisy-neighbour", "worker-12", "/", "vda")
	if other := culprit("noisy-neighbour", "worker-7", "/x", "vdb"); same.ID != other.ID || same.Kind != "process" || same.Name != "worker-12" {
		t.Errorf("%+v and %+v", same, other)
	}
	if other := culprit("noisy-neighbour", "backup", "/", "vda"); same.ID == other.ID {
		t.Error("two programs have one hash")
	}
	if culprit("healthy", "", "", "") != nil {
		t.Error("nobody has a hash")
	}
}

// The facts of this machine are two series and one for each disk, go on while
// nothing changes, and hold neither its name nor its number.
func TestFactsOfThisMachine(t *testing.T) {
	f := newFacts(host.Live(), slog.New(slog.DiscardHandler), "test 1")
	values, _ := f.take()
	print, err := host.Live().Fingerprint()
	if err != nil {
		t.Log(err)
	}
	text := shown(t, values)
	if want := 2 + len(print.Devices); len(values) != want {
		t.Errorf("%d series, want %d:\n%s", len(values), want, text)
	}
	// VictoriaMetrics drops labels beyond thirty: the name, instance and some of people's
	// own must have room beside ours.
	for _, v := range values {
		if n := len(v.Of.Labels()); n > 22 {
			t.Errorf("%s has %d labels", v.Of.Name(), n)
		}
	}
	for _, part := range []string{`iocause_host_info{`, `iocause_host_settings{`, `kernel="` + print.Kernel + `"`, `iocause="test 1"`, `vm_swappiness="`, `memory_gib="`} {
		if !strings.Contains(text, part) {
			t.Errorf("%s is missing in\n%s", part, text)
		}
	}
	f.read = time.Time{}
	again, ended := f.take()
	if len(ended) != 0 || again[0].Of != values[0].Of {
		t.Errorf("what has not changed is begun anew (%d ended)", len(ended))
	}
}

func TestLongFactsAreCutAndStayApart(t *testing.T) {
	long := strings.Repeat("x", 100)
	a, b := factLabels(map[string]string{"vm.a{b,c}": long + "1"}), factLabels(map[string]string{"vm.a{b,c}": long + "2"})
	if len(a[0].Value) != longestFact || a[0].Value == b[0].Value || a[0].Name != "vm_a_b_c" {
		t.Errorf("%v %v", a, b)
	}
}
