package agent

import (
	"cmp"
	"strconv"

	"iocause/internal/sample"
	"iocause/internal/store/series"
)

// labelsOf are the labels of an entity, "" for one that does not apply.
// Processes and files are no series: there would be new ones all the time.
func labelsOf(e sample.Entity) []series.Label {
	return []series.Label{{Name: "device", Value: e.Device}, {Name: "class", Value: e.Class}, {Name: "cgroup", Value: e.Cgroup}}
}

// infos is the catalog by metric: under each name that a metric goes by.
func infos() map[sample.Metric][]sample.Info {
	all := map[sample.Metric][]sample.Info{}
	for _, i := range sample.Catalog() {
		all[i.Metric] = i.Names()
	}
	return all
}

// Own are the agent's own series: what it costs and what it lost.
func Own() []sample.Info {
	const c, g = sample.Counter, sample.Gauge
	return []sample.Info{
		{Metric: hostInfo, Unit: sample.Count, Kind: g, Help: "always 1: the labels are the host's kernel, processors and memory, as 'iocause diff' compares them; machine is a hash of its machine-id"},
		{Metric: hostSettings, Unit: sample.Count, Kind: g, Help: "always 1: the labels are the settings of the host's memory (/proc/sys/vm, huge pages), as 'iocause diff' compares them"},
		{Metric: deviceInfo, Unit: sample.Count, Kind: g, On: "device", Help: "always 1: the labels are a disk's model, size and the settings of its queue"},
		{Metric: findingWeight, Unit: sample.Count, Kind: g, On: "cause", Help: "share of the victim's waiting that the cause explains, of the newest hourly check or of the incident that is going on; 0 for healthy and cannot-tell; culprit is a hash, the name is in the incident"},
		{Metric: findingConfidence, Unit: sample.Ratio, Kind: g, On: "cause", Help: "confidence of that"},
		{Metric: "agent.cpu", Unit: sample.Seconds, Kind: c, Help: "processor time of the agent"},
		{Metric: "agent.resident", Unit: sample.Bytes, Kind: g, Help: "resident memory of the agent"},
		{Metric: "agent.disk", Unit: sample.Bytes, Kind: g, Help: "size of the recording on disk"},
		{Metric: "agent.dropped", Unit: sample.Seconds, Kind: c, On: "class raw, 5m, 1h, tables", Help: "time span of parts of the recording that were removed before their age limit, because the recording reached its size limit"},
		{Metric: "agent.written", Unit: sample.Bytes, Kind: c, Help: "bytes that the agent wrote to block devices"},
		{Metric: "agent.values", Unit: sample.Count, Kind: c, On: "class kept, refused, lost", Help: "values kept, refused (their time was taken or too old) and lost (the buffer was full while the disk could not be written)"},
		{Metric: "agent.waiting", Unit: sample.Count, Kind: g, Help: "values in memory that are not on disk yet"},
		{Metric: "agent.writable", Unit: sample.Count, Kind: g, Help: "1 if the last write to the recording succeeded and none hangs, else 0"},
		{Metric: "agent.reopened", Unit: sample.Count, Kind: c, Help: "times that the recording had to be reopened"},
		{Metric: "agent.clock_steps", Unit: sample.Count, Kind: c, Help: "times that the clock was set, or the machine slept"},
		{Metric: "agent.tables", Unit: sample.Count, Kind: c, On: "class kept, lost", Help: "tables of the busiest processes and cgroups kept and lost (the buffer was full while the disk could not be written)"},
		{Metric: "agent.tables_disk", Unit: sample.Bytes, Kind: g, Help: "size of these tables on disk"},
		{Metric: "agent.remote", Unit: sample.Count, Kind: c, On: "class sent, refused", Help: "values sent by remote write, and values that the receiver refused"},
		{Metric: "agent.remote_behind", Unit: sample.Seconds, Kind: g, Help: "age of the newest value sent by remote write"},
		{Metric: "agent.otlp", Unit: sample.Count, Kind: c, On: "class sent, refused", Help: "values sent over OTLP, and values that the receiver refused"},
		{Metric: "agent.otlp_behind", Unit: sample.Seconds, Kind: g, Help: "age of the newest value sent over OTLP"},
		{Metric: "agent.interval", Unit: sample.Seconds, Kind: g, On: "class the source", Help: "time between two readings of a source; longer than configured while the agent is over its limits"},
		{Metric: "agent.source_up", Unit: sample.Count, Kind: g, On: "class the source", Help: "1 when the source can be read, else 0"},
	}
}

func compareLabels(a, b []series.Label) int {
	for i := range min(len(a), len(b)) {
		if a[i].Name == series.Bound && b[i].Name == series.Bound {
			x, _ := strconv.ParseFloat(a[i].Value, 64) // we wrote them
			y, _ := strconv.ParseFloat(b[i].Value, 64)
			if c := cmp.Compare(x, y); c != 0 {
				return c
			}
		}
		if c := cmp.Or(cmp.Compare(a[i].Name, b[i].Name), cmp.Compare(a[i].Value, b[i].Value)); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(a), len(b))
}
