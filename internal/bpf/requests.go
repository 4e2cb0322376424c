package bpf

// ByRequest is the way that counts requests of the block layer where a bio was
// just given one: block_getrq, which kernels had long before block_io_start. It
// passes the bio alone since 5.11, and the queue before it until then.
const ByRequest = "getrq"

// Requests is the begin of requests of the block layer: at block_io_start (6.5)
// by the object's program on_start, else by on_getrq or on_getrq_old. constants are
// those of the object where it is one of these, or nil.
func Requests(constants map[string]any) Capability {
	return Capability{Name: "requests", Ways: []Way{
		{By: ByTracepoint, Programs: []Program{{Name: "on_start", Tracepoint: "block_io_start"}}},
		{By: ByRequest, Programs: []Program{{Name: "on_getrq", Tracepoint: "block_getrq", Arguments: 1}}, Constants: constants},
		{By: ByRequest, Programs: []Program{{Name: "on_getrq_old", Tracepoint: "block_getrq", Arguments: 3}}, Constants: constants},
	}}
}
