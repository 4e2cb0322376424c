package burst

import (
	"testing"
	"time"

	"iocause/internal/detect"
	"iocause/internal/table"
)

// A share of more than all is none; rows that are alike keep their order.
func TestTables(t *testing.T) {
	s := &sums{all: detect.Load{Ops: 30, Bytes: 3000}, in: detect.Load{Ops: 50}, bursts: 2, owners: map[Owner]*ownerSums{
		{PID: 7, Comm: "a", Cgroup: "/g"}: {ops: 10, inBursts: 15}, {PID: 8, Comm: "b"}: {ops: 10, inBursts: 5}, {PID: 9, Comm: "c"}: {ops: 10, inBursts: 5}}}
	in := &Interval{Length: time.Second, disks: map[string]*sums{"sda": s}}
	for range 10 {
		tables := in.Tables()
		disk, owners := tables[0].Rows[0], tables[1]
		if err := owners.Sort("bursts"); err != nil {
			t.Fatal(err)
		}
		if disk[3] != table.None() || owners.Rows[0][4] != table.None() || owners.Rows[1][4] != table.Num(.5) || len(owners.Notes) != 1 {
			t.Fatalf("shares %+v, %+v, %+v, notes %q", disk[3], owners.Rows[0][4], owners.Rows[1][4], owners.Notes)
		}
		if owners.Rows[1][2].Text != "8" || owners.Rows[2][2].Text != "9" {
			t.Fatal("rows that are alike change places")
		}
	}
}
