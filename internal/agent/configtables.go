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
				p.bad(n, "%q is no number from 1 to %d", n.Value, mostRows)
			}
			to.Rows = rows
		},
		"keep": func(n *yaml.Node) { to.Keep = p.duration(n, time.Hour, longestKept) },
		"disk": func(n *yaml.Node) { to.Disk = p.bytes(n, 16<<20) },
	})
}
