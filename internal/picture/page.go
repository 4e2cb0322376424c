package picture

import (
	"iocause/internal/diagnose"
	"iocause/internal/sample"
	"iocause/internal/table"
)

// Page is all that is shown of one diagnosis: what was found, and what it looked
// like. Names in it are data from the system and may hold any byte.
type Page struct {
	Program string // and its version: who made it
	Host    string // the machine's name, "" where that is not known
	Kernel  string
	Of      string // what was looked at: "the recording night.iocause", "this machine"
	Asked   string // whom it was limited to, "" for nobody
	// Report is what was found; nil where nobody judged, and then Unjudged says why.
	Report   *diagnose.Report
	Unjudged string
	Incident *sample.Incident // that it is of; nil for none
	Sets     []*Set
	Tables   []table.Table
	Profiles []*sample.Profile // where threads spent their time, by stack
	Notes    []string          // what is missing of this page, and why
}
