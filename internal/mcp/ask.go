package mcp

import (
	"fmt"
	"strconv"
)

// line is a command line of iocause that answers a tool.
type line struct {
	args    []string // without the program's name
	stdin   string
	seconds float64 // how long it watches; 0: it answers from what was kept
	rows    int     // elements of each list that are shown
}

// question is what a tool is asked.
type question interface {
	line(dir string) (*line, error)
}

// How much is shown of each list unless it is asked, and at most.
const (
	usualRows = 20
	mostRows  = 500
	listed    = 50 // of a finding, whose lists are short
)

// Seconds that one answer may take: a client waits a minute or so.
const (
	leastSeconds = 1
	mostSeconds  = 300
)

type duration struct {
	Seconds float64 `json:"seconds,omitempty" jsonschema:"how long to watch this machine now, 1 to 300; many clients give up after 60"`
}

func (d duration) length(usual float64) (float64, error) {
	if d.Seconds == 0 {
		return usual, nil
	}
	if d.Seconds < leastSeconds || d.Seconds > mostSeconds {
		return 0, fmt.Errorf("seconds is %g: give %d to %d", d.Seconds, leastSeconds, mostSeconds)
	}
	return d.Seconds, nil
}

func written(seconds float64) string { return strconv.FormatFloat(seconds, 'f', -1, 64) + "s" }

type processes struct {
	PID       int    `json:"pid,omitempty" jsonschema:"only this process"`
	Comm      string `json:"comm,omitempty" jsonschema:"only processes of this name, as /proc/PID/comm has it"`
	Cgroup    string `json:"cgroup,omitempty" jsonschema:"only processes in and below this cgroup, by its path"`
	Container string `json:"container,omitempty" jsonschema:"only this container, by the begin of its ID"`
	Pod       string `json:"pod,omitempty" jsonschema:"only this pod, by its UID"`
	Unit      string `json:"unit,omitempty" jsonschema:"only this systemd unit"`
}

func (p processes) flags() []string {
	return append(number("pid", p.PID), given("comm", p.Comm, "cgroup", p.Cgroup, "container", p.Container, "pod", p.Pod, "unit", p.Unit)...)
}

type past struct {
	Recording string `json:"recording,omitempty" jsonschema:"replay instead of watching: a file of 'iocause record', or the number of an incident"`
	From      string `json:"from,omitempty" jsonschema:"start of the time, in the recording or in the agent's history: '14:00', 'yesterday 14:00', '10m ago', RFC 3339; '+30s' in a recording"`
	To        string `json:"to,omitempty" jsonschema:"end of that time"`
}

func (p past) asked() bool { return p != past{} }

func (p past) flags(dir string) []string {
	if !p.asked() {
		return nil
	}
	return append([]string{"--dir=" + dir}, given("recording", p.Recording, "from", p.From, "to", p.To)...)
}

type table struct {
	Rows int `json:"rows,omitempty" jsonschema:"rows of each table, 20 without it, 500 at most; the tool 'more' shows the others of the same answer"`
}

func (t table) most() (int, error) {
	if t.Rows < 0 || t.Rows > mostRows {
		return 0, fmt.Errorf("rows is %d: give 1 to %d, and ask 'more' for the others", t.Rows, mostRows)
	}
	if t.Rows == 0 {
		return usualRows, nil
	}
	return t.Rows, nil
}

// given are flags of those that have a value. It is joined to its flag, so that
// none is taken for another flag.
func given(pairs ...string) (flags []string) {
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			flags = append(flags, "--"+pairs[i]+"="+pairs[i+1])
		}
	}
	return flags
}

func number(name string, n int) []string {
	if n == 0 {
		return nil
	}
	return []string{"--" + name + "=" + strconv.Itoa(n)}
}
