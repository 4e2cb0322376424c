package cli

import (
	"strings"
	"testing"
	"time"

	"iocause/internal/detect"
	"iocause/internal/present/text"
	"iocause/internal/table"
)

// A share of more than all is none; rows that are alike keep their order; a
// long and hostile name fits.
func TestBurstTables(t *testing.T) {
	s := &burstSums{all: detect.Load{Ops: 30, Bytes: 3000}, in: detect.Load{Ops: 50}, bursts: 2, owners: map[ioOwner]*ownerSums{
		{ioProcess: ioProcess{7, hostileComm}, cgroup: "/" + strings.Repeat("long/", 60)}: {ops: 10, inBursts: 15},
		{ioProcess: ioProcess{8, "b"}}: {ops: 10, inBursts: 5}, {ioProcess: ioProcess{9, "c"}}: {ops: 10, inBursts: 5}}}
	r := &burstRun{}
	for range 10 {
		tables := r.tables(map[string]*burstSums{"sda": s}, time.Second)
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
		for i := range tables {
			var b strings.Builder
			if err := text.WriteTable(&b, &tables[i], text.Style{Width: 80}); err != nil {
				t.Fatal(err)
			}
			harmless(t, b.String())
			for line := range strings.Lines(b.String()) {
				if text.Width(strings.TrimSuffix(line, "\n")) > 80 {
					t.Errorf("more than 80 columns: %q", line)
				}
			}
		}
	}
}
