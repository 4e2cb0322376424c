package lab

import (
	"strings"
	"testing"

	"iocause/internal/lab/load"
)

const goodExperiment = `title: t
requires: [root]
files: {data: 64M}
setup:
  - cgroup: {name: small, memory: 32M}
phases:
  - name: one
    drop: [data]
    loads: [{name: l, cgroup: small, do: {kind: randread, path: "{data}", size: 16M, count: 100}}]
`

func TestExperimentMistakesNameLineAndField(t *testing.T) {
	for _, c := range []struct{ old, new, says string }{
		{"title: t", "titel: t", "x.yaml:1: there is no field titel"},
		{"title: t", "title: ''", "x.yaml:1: title: "},
		{"[root]", "[fame]", `x.yaml:2: requires: "fame" is not known`},
		{"64M", "many", `x.yaml:3: data: "many" is not a size`},
		{"cgroup: {name: small, memory: 32M}", "cgroup: {name: small, limit: 32M}", "x.yaml:5: there is no field limit"},
		{"drop: [data]", "drop: [date]", `x.yaml:7: phases: drop: there is no file "date"`},
		{"cgroup: small", "cgroup: big", `x.yaml:7: phases: load l: there is no cgroup "big"`},
		{"kind: randread", "kind: nonsense", `no kind of load is called "nonsense"`},
		{"count: 100", "cuont: 100", `x.yaml:9:  a load has no field "cuont"`},
		{"name: one", "duration: 5s", "x.yaml:7: phases: a phase needs a name"},
		{"title: t", "title: t\nrepeat: -1", "x.yaml:2: repeat: "},
		{"title: t", "title: t\nwindow: 5", "x.yaml:2: window: cannot unmarshal"},
		{"drop: [data]", "duration: 5\n    drop: data", "x.yaml:8: duration: cannot unmarshal"},
		{"drop: [data]", "duration: 5\n    drop: data", "x.yaml:9: drop: cannot unmarshal"},
		{"cgroup: {name: small, memory: 32M}", "{swap: 1G, read_ahead: 1M}", "x.yaml:5: setup: the step does 2 things"},
		{"cgroup: {name: small, memory: 32M}", "loop: {name: d, size: 1M, latency: 5ms, serial: true}", "x.yaml:5: setup: loop d: "},
		{"cgroup: {name: small, memory: 32M}", "slow: {disk: d}", "x.yaml:5: setup: slow: "},
	} {
		text := strings.Replace(goodExperiment, c.old, c.new, 1)
		if _, err := ParseExperiment("x.yaml", []byte(text)); err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), "  ", " "), strings.ReplaceAll(c.says, "  ", " ")) {
			t.Errorf("%q: %v, want %q", c.new, err, c.says)
		}
	}
}

func TestExperimentScale(t *testing.T) {
	x, err := ParseExperiment("x.yaml", []byte(goodExperiment))
	if err != nil {
		t.Fatal(err)
	}
	x.Scale(0.25)
	do := x.Phases[0].Loads[0].Do
	if x.Files["data"] != 16<<20 || x.Setup[0].Cgroup.Memory != 8<<20 || do.Size != 4<<20 || do.Count != 25 {
		t.Errorf("%+v, %+v, %+v", x.Files, x.Setup[0].Cgroup, do)
	}
	if x.Scale(1e-9); x.Files["data"] != load.Size(1<<20) {
		t.Errorf("the least size is %d", x.Files["data"])
	}
}
