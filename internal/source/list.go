// Package source lists every source there is and runs them together over one
// window of time. Nothing else knows all of them.
package source

import (
	"iocause/internal/host"
	"iocause/internal/sample"
)

// Entry is one source of the list.
type Entry struct {
	Name    string
	Open    func(*host.Host) (sample.Source, error)
	Metrics []sample.Metric // everything it can emit
	Needs   string          // what it needs to work, for people
}

// List is every source, the cheap ones first: what is collected last would
// otherwise wait for the tables of the probes.
func List() []Entry {
	return []Entry{}
}
