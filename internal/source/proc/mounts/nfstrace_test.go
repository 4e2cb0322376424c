package mounts

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"
	"time"

	"iocause/internal/require"
)

// call is a read of a file server, one at a time, on its way: when the client began to
// send it, the server had read it, the server began to write its answer, and the client
// found what the answer is to. Server and client are on this machine, and have its clock.
type call struct{ sent, read, answered, found time.Duration }

// traced runs f and tells of each READ of NFS what the kernel's own trace has.
func traced(t *testing.T, f func()) []call {
	t.Helper()
	const tracing = "/sys/kernel/tracing"
	write := func(file, text string) {
		t.Helper()
		require.NoError(t, os.WriteFile(filepath.Join(tracing, file), []byte(text), 0))
	}
	events := map[string]string{
		"sunrpc/rpc_xdr_sendto": "0", "sunrpc/xprt_transmit": "0", "sunrpc/xprt_lookup_rqst": "0", "sunrpc/rpc_stats_latency": "0",
		"syscalls/sys_exit_read": "ret > 64", "syscalls/sys_enter_write": "count > 4096", // a call, not its head; an answer
	}
	write("trace", "")
	for event, filter := range events {
		write("events/"+event+"/filter", filter)
		write("events/"+event+"/enable", "1")
	}
	f()
	for event := range events {
		write("events/"+event+"/enable", "0")
		write("events/"+event+"/filter", "0")
	}
	trace, err := os.ReadFile(filepath.Join(tracing, "trace"))
	require.NoError(t, err)
	calls := callsOf(trace)
	if len(calls) == 0 {
		t.Logf("no call in the kernel's trace, which begins:\n%s", trace[:min(len(trace), 6000)])
	}
	return calls
}

var traceLine = regexp.MustCompile(`(\d+)\.(\d{6}): (rpc_xdr_sendto|xprt_transmit|xprt_lookup_rqst|rpc_stats_latency|sys_read|sys_write)[:( ](?:.*xid=0x([0-9a-f]{8}))?(?:.* (READ) )?`)

func callsOf(trace []byte) []call {
	var all []call
	var now call
	begun := map[string]time.Duration{} // when sending began, by the call's number
	found := map[string]call{}
	for _, m := range traceLine.FindAllStringSubmatch(string(trace), -1) {
		seconds, _ := strconv.Atoi(m[1])
		micro, _ := strconv.Atoi(m[2])
		at := time.Duration(seconds)*time.Second + time.Duration(micro)*time.Microsecond
		switch m[3] {
		case "rpc_xdr_sendto":
			now = call{sent: at}
		case "xprt_transmit":
			begun[m[4]] = now.sent
		case "sys_read":
			now.read = at
		case "sys_write":
			now.answered = at
		case "xprt_lookup_rqst":
			now.found = at
			found[m[4]] = now
		case "rpc_stats_latency":
			if c, ok := found[m[4]]; ok && m[5] != "" && c.sent == begun[m[4]] && c.read > 0 && c.answered > 0 {
				all = append(all, c)
			}
		}
	}
	return all
}
