package burst

import (
	"fmt"

	"iocause/internal/table"
)

// Tables are those of an interval.
func (in *Interval) Tables() []table.Table {
	disks := table.Table{Key: "disks", Title: "Arrivals per second: in the top 1 ms, the top 10 ms, and on average",
		Columns: []table.Column{
			{Key: "disk", Head: "DISK", Flex: true}, {Key: "bursts", Head: "BURSTS", Unit: "count"},
			{Key: "longest_seconds", Head: "LONGEST", Unit: "seconds"}, {Key: "in_bursts_ratio", Head: "I/O IN", Unit: "ratio"},
			{Key: "peak_1ms_ios_per_s", Head: "IOPS 1ms", Unit: "count"}, {Key: "peak_10ms_ios_per_s", Head: "10ms", Unit: "count"},
			{Key: "ios_per_s", Head: "MEAN", Unit: "count"},
			{Key: "peak_1ms_bytes_per_s", Head: "B/s 1ms", Unit: "bytes"}, {Key: "peak_10ms_bytes_per_s", Head: "10ms", Unit: "bytes", Drop: 2},
			{Key: "bytes_per_s", Head: "MEAN", Unit: "bytes", Drop: 1}, {Key: "who", Head: "WHO BURST", Flex: true},
		}}
	owners := table.Table{Key: "owners", Title: "Who sent the I/O, in bursts and in all",
		Columns: []table.Column{
			{Key: "disk", Head: "DISK", Flex: true}, {Key: "comm", Head: "PROCESS", Flex: true}, {Key: "pid", Head: "PID"},
			{Key: "bursts", Head: "IN BURSTS", Unit: "count"}, {Key: "burst_ratio", Head: "OF ITS OWN", Unit: "ratio"},
			{Key: "ios", Head: "I/Os", Unit: "count"}, {Key: "bytes", Head: "BYTES", Unit: "bytes"}, {Key: "cgroup", Head: "CGROUP", Flex: true},
		}}
	seconds := max(in.Length.Seconds(), 1e-3)
	early := false // bursts began before the interval
	for name, s := range in.disks {
		if s.all.Ops+s.all.Bytes == 0 {
			continue
		}
		who, most := table.None(), uint64(0)
		for o, n := range s.owners {
			cgroup := table.Str(o.Cgroup)
			if o.Cgroup == "" {
				cgroup = table.None()
			}
			owners.Rows = append(owners.Rows, []table.Cell{table.Str(name), table.Str(o.Comm), table.Str(fmt.Sprint(o.PID)), table.Num(float64(n.inBursts)),
				table.Maybe(float64(n.inBursts)/float64(max(n.ops, 1)), n.ops > 0 && n.inBursts <= n.ops), table.Num(float64(n.ops)), table.Num(float64(n.bytes)), cgroup})
			early = early || n.inBursts > n.ops
			if n.inBursts > most {
				most = n.inBursts
				who = table.Str(share(o, most, s.in.Ops))
			}
		}
		disks.Rows = append(disks.Rows, []table.Cell{table.Str(name), table.Num(float64(s.bursts)), table.Maybe(float64(s.longest)/1000, s.bursts > 0),
			table.Maybe(float64(s.in.Ops)/float64(max(s.all.Ops, 1)), s.in.Ops <= s.all.Ops),
			table.Num(float64(s.top1.Ops) * 1000), table.Num(float64(s.top10.Ops) * 100), table.Num(float64(s.all.Ops) / seconds),
			table.Num(float64(s.top1.Bytes) * 1000), table.Num(float64(s.top10.Bytes) * 100), table.Num(float64(s.all.Bytes) / seconds), who})
	}
	if early {
		owners.Notes = append(owners.Notes, "a burst counts in the interval in which it is found; bursts that began earlier are not in these shares")
	}
	for _, key := range []string{"pid", "ios"} { // of those that are alike, in an order that does not change
		_ = owners.Sort(key) // the column is there
	}
	_ = disks.Sort("disk")
	disks.Notes = in.notes
	return []table.Table{disks, owners}
}
