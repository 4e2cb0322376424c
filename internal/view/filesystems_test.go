package view

import (
	"testing"
	"time"

	"iocause/internal/sample"
	"iocause/internal/table"
)

// Two file systems of one disk have their own options, and what is not known is absent.
func TestFileSystems(t *testing.T) {
	start := time.Unix(1700000000, 0)
	r := sample.NewRecorder(start)
	root, data := sample.Entity{Device: "sda", Class: "/"}, sample.Entity{Device: "sda", Class: "/data"}
	r.Put(sample.FSSize, root, 1000, "")
	r.Put(sample.FSAvailable, root, 50, "")
	r.Put(sample.FSInodes, root, 200, "")
	r.Put(sample.FSInodesFree, root, 150, "")
	r.Put(sample.FSJournal, root, 64<<20, "")
	r.Put(sample.FSOption, sample.Entity{Device: "sda", Class: "sync /"}, 1, "")
	r.Put(sample.FSOption, sample.Entity{Device: "sda", Class: "commit=60 /"}, 1, "")
	r.Put(sample.FSSize, data, 4000, "")
	r.Put(sample.FSAvailable, data, 4000, "")
	tables := fileSystems(r.Window(start.Add(time.Second)), &Query{})
	if len(tables) != 1 || len(tables[0].Rows) != 2 {
		t.Fatalf("the tables are %+v", tables)
	}
	a, b := tables[0].Rows[0], tables[0].Rows[1]
	if a[0].Text != "/" || a[3].Number != 0.05 || a[4].Number != 0.75 || a[5].Number != 64<<20 || a[6].Text != "commit=60, sync" {
		t.Errorf("the first row is %+v", a)
	}
	if b[0].Text != "/data" || b[3].Number != 1 || b[4].State != table.Absent || b[5].State != table.Absent || b[6].State != table.Absent {
		t.Errorf("the second row is %+v", b)
	}
}
