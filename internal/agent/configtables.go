package agent

import (
	"strconv"
	"time"

	"go.yaml.in/yaml/v3"
)

// mostRows is how many rows a table may have.
const mostRows = 1000

// tables reads what is kept of processes and cgroups.
func (p *parser) tables(n *yaml.Node, to *Tables) {
	p.fields(n, map[string]func(*yaml.Node){
		"interval": func(n *yaml.Node) {
			if to.Interval = 0; n.Value != "0" {
				to.Interval = p.duration(n, time.Second, 10*time.Minute)
			}
		},
		"rows": func(n *yaml.Node) {
			rows, err := strconv.Atoi(n.Value)
			if err != nil || rows < 1 || rows > mostRows {
				p.bad(n, "%q is not a number from 1 to %d", n.Value, mostRows)
			}
			to.Rows = rows
		},
		"keep": func(n *yaml.Node) { to.Keep = p.duration(n, time.Hour, longestKept) },
		"disk": func(n *yaml.Node) { to.Disk = p.bytes(n, 16<<20) },
	})
}

// sampleShare is how much of the time the page cache may be sampled: a program
// loses no more by that.
const sampleShare = 0.01

// pageCache reads how the page cache is sampled.
func (p *parser) pageCache(n *yaml.Node, to *PageCache) {
	sample := func(n *yaml.Node) { to.Sample = p.duration(n, 20*time.Millisecond, 5*time.Second) }
	p.fields(n, map[string]func(*yaml.Node){
		"interval": func(n *yaml.Node) {
			if to.Interval = 0; n.Value != "0" {
				to.Interval = p.duration(n, 5*time.Second, 10*time.Minute)
			}
		},
		"sample": sample,
		"look":   sample, // its name in the version before
	})
	if to.Interval > 0 && to.Sample.Seconds() > sampleShare*to.Interval.Seconds() {
		p.bad(n, "a sample of %v is more than a hundredth of the interval, %v: programs could lose more than 1 %%", to.Sample, to.Interval)
	}
}
