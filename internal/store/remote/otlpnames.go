package remote

import (
	"strings"

	common "go.opentelemetry.io/proto/slim/otlp/common/v1"
)

// convention is how OpenTelemetry calls a series: by its semantic conventions
// (version 1.43, https://opentelemetry.io/docs/specs/semconv/system/system-metrics/)
// where they have it.
type convention struct {
	name, unit string // the unit as UCUM has it
	sum        bool   // it only increases
	attributes []*common.KeyValue
	device     string // what the label device is called; "" for that
	class      string // the same of class
}

// label is what a label is called.
func (c *convention) label(name string) string {
	switch {
	case name == "device" && c.device != "":
		return c.device
	case name == "class" && c.class != "":
		return c.class
	}
	return name
}

// conventional is the convention of a series. One that OpenTelemetry has no name for
// keeps its own, without what follows from unit and kind: those who turn it into a
// name for Prometheus add that again.
func conventional(name string) convention {
	if c, ok := conventions()[name]; ok {
		c.sum = strings.HasSuffix(name, "_total")
		return c
	}
	var c convention
	c.name, c.sum = strings.CutSuffix(name, "_total")
	for suffix, unit := range map[string]string{"_seconds": "s", "_bytes": "By", "_pages": "{page}", "_ratio": "1"} {
		if short, is := strings.CutSuffix(c.name, suffix); is {
			c.name, c.unit = short, unit
			break
		}
	}
	c.name = strings.Replace(c.name, "iocause_", "iocause.", 1)
	return c
}

// conventions are the series that the semantic conventions have a name for.
func conventions() map[string]convention {
	with := func(name, unit string, pairs ...string) convention {
		c := convention{name: name, unit: unit}
		for i := 0; i < len(pairs); i += 2 {
			c.attributes = append(c.attributes, attribute(pairs[i], pairs[i+1]))
		}
		return c
	}
	disk := func(name, unit string, pairs ...string) convention {
		c := with("system.disk."+name, unit, pairs...)
		c.device = "system.device"
		return c
	}
	net := func(name, unit string, pairs ...string) convention {
		c := with("system.network."+name, unit, pairs...)
		c.device = "network.interface.name"
		return c
	}
	size := with("system.filesystem.limit", "By")
	size.device, size.class = "system.device", "system.filesystem.mountpoint"
	const direction, way = "disk.io.direction", "network.io.direction"
	return map[string]convention{
		"iocause_cpu_user_seconds_total":        with("system.cpu.time", "s", "cpu.mode", "user"),
		"iocause_cpu_system_seconds_total":      with("system.cpu.time", "s", "cpu.mode", "system"),
		"iocause_cpu_idle_seconds_total":        with("system.cpu.time", "s", "cpu.mode", "idle"),
		"iocause_cpu_iowait_seconds_total":      with("system.cpu.time", "s", "cpu.mode", "iowait"),
		"iocause_cpu_steal_seconds_total":       with("system.cpu.time", "s", "cpu.mode", "steal"),
		"iocause_cpus":                          with("system.cpu.logical.count", "{cpu}"),
		"iocause_mem_total_bytes":               with("system.memory.limit", "By"),
		"iocause_mem_free_bytes":                with("system.memory.usage", "By", "system.memory.state", "free"),
		"iocause_mem_cache_bytes":               with("system.memory.usage", "By", "system.memory.state", "cached"),
		"iocause_mem_available_bytes":           with("system.memory.linux.available", "By"),
		"iocause_mem_shmem_bytes":               with("system.memory.linux.shared", "By"),
		"iocause_vm_major_faults_total":         with("system.paging.faults", "{fault}", "system.paging.fault.type", "major"),
		"iocause_vm_swap_in_pages_total":        with("system.paging.operations", "{operation}", "system.paging.direction", "in"),
		"iocause_vm_swap_out_pages_total":       with("system.paging.operations", "{operation}", "system.paging.direction", "out"),
		"iocause_disk_reads_total":              disk("operations", "{operation}", direction, "read"),
		"iocause_disk_writes_total":             disk("operations", "{operation}", direction, "write"),
		"iocause_disk_read_bytes_total":         disk("io", "By", direction, "read"),
		"iocause_disk_write_bytes_total":        disk("io", "By", direction, "write"),
		"iocause_disk_read_time_seconds_total":  disk("operation_time", "s", direction, "read"),
		"iocause_disk_write_time_seconds_total": disk("operation_time", "s", direction, "write"),
		"iocause_disk_busy_seconds_total":       disk("io_time", "s"),
		"iocause_net_received_bytes_total":      net("io", "By", way, "receive"),
		"iocause_net_sent_bytes_total":          net("io", "By", way, "transmit"),
		"iocause_net_errors_total":              net("errors", "{error}"),
		"iocause_net_drops_total":               net("packet.dropped", "{packet}"),
		"iocause_fs_size_bytes":                 size,
	}
}
