package dmesg

import (
	"regexp"
	"strings"
	"sync"

	"iocause/internal/parse/lines"
	"iocause/internal/sample"
)

// frames are functions of the kernel as they stand in stacks: wait_for_x+0x87/0xd0.
var frames = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\b([a-z_][\w.]{2,80})\+0x[0-9a-f]+/0x[0-9a-f]+`) })

// sleepers say what a task waits for that sleeps in one of these: the first one that
// its stack has counts.
func sleepers() []struct{ class, function string } {
	return []struct{ class, function string }{
		{sample.ClassJournal, "wait_transaction_locked"}, {sample.ClassJournal, "start_this_handle"}, {sample.ClassJournal, "add_transaction_credits"},
		{sample.ClassJournal, "do_get_write_access"}, {sample.ClassJournal, "xlog_grant_head_wait"}, {sample.ClassJournal, "wait_current_trans"},
		{sample.ClassCommit, "jbd2_log_wait_commit"}, {sample.ClassCommit, "xfs_log_force"}, {sample.ClassCommit, "xlog_force_lsn"}, {sample.ClassCommit, "btrfs_wait_for_commit"},
		{sample.ClassNetwork, "rpc_wait_bit_killable"}, {sample.ClassNetwork, "nfs_wait_bit_killable"}, {sample.ClassNetwork, "nfs_wait_on_request"},
		{sample.ClassNetwork, "wait_for_response"}, {sample.ClassNetwork, "ceph_mdsc_wait_request"}, {sample.ClassNetwork, "p9_client_rpc"},
		{sample.ClassFUSE, "request_wait_answer"}, {sample.ClassFUSE, "fuse_simple_request"}, {sample.ClassFUSE, "__fuse_request_send"},
		{sample.ClassPermit, "fanotify_get_response"}, {sample.ClassPermit, "fanotify_handle_event"},
	}
}

// frame reads a line below the report of a hung task: of its stack, or around that.
func (r *reader) frame(text string) lines.Use {
	if r.stack == "" {
		return lines.Foreign
	}
	m := frames().FindStringSubmatch(text[:min(len(text), maxMessage)])
	if m == nil {
		for _, part := range []string{"Call Trace", "<TASK>", "disables this message", "ainted", "state:", "task:", " RIP:", " RSP:", " RAX:", " RDX:", " RBP:", " R10:", " R13:"} {
			if strings.Contains(text, part) {
				return lines.Skipped
			}
		}
		return lines.Foreign
	}
	name, _, _ := strings.Cut(m[1], ".") // wait_transaction_locked.isra.0
	if r.waits[r.stack] == "" && len(r.waits) < maxDevices {
		for _, s := range sleepers() {
			if name == s.function {
				r.waits[r.stack] = s.class
			}
		}
	}
	return lines.Skipped
}

// set keeps what the log says last of a disk or a server.
func (r *reader) set(m sample.Metric, of sample.Entity, v float64, line int) {
	for i := range r.state {
		if r.state[i].metric == m && r.state[i].of == of {
			r.state[i].value, r.state[i].line = v, line
			return
		}
	}
	if len(r.state) < maxDevices {
		r.state = append(r.state, state{m, of, v, line})
	}
}

func (r *reader) writeCache(disk string, on bool, line int) {
	v := 0.0
	if on {
		v = 1
	}
	r.set(sample.DeviceWriteCache, sample.Entity{Device: disk}, v, line)
}

// unanswered counts the messages about a server.
func (r *reader) unanswered(server string, line int) {
	e := sample.Entity{Device: server, Class: "not responding"}
	n := 1.0
	for _, x := range r.state {
		if x.metric == sample.NFSTimeouts && x.of == e {
			n = x.value + 1
		}
	}
	r.set(sample.NFSTimeouts, e, n, line)
	r.set(sample.MountKind, sample.Entity{Device: server, Class: "nfs"}, 1, line)
	r.set(sample.MountFrom, sample.Entity{Device: server, Class: server}, 1, line)
}
