package bpf

import (
	"fmt"
	"os"
	"strings"

	"iocause/internal/host"
)

// TellsQueue tells whether programs can see when a thread was put into the queue of
// a processor (queue.bpf.h): the kernel keeps that (CONFIG_SCHED_INFO, which may be
// switched off at its start), and a thread's queue with its clock can be found.
// Where it does not, wake-ups must be watched.
func TellsQueue(h *host.Host) (bool, error) {
	types, err := LoadTypes()
	if err != nil {
		return false, err
	}
	if _, err := types.FunctionArguments("bpf_rdonly_cast"); err != nil { // before 6.2 wake-ups are watched, which was tried there
		return false, nil
	}
	for _, m := range [][2]string{{"sched_info", "last_queued"}, {"sched_entity", "cfs_rq"}, {"cfs_rq", "rq"}, {"rq", "clock"}} {
		if !types.hasMember(m[0], m[1]) {
			return false, nil
		}
	}
	b, err := os.ReadFile(h.Proc("self", "schedstat"))
	if os.IsNotExist(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("asking for the scheduler's account: %w", err)
	}
	fields := strings.Fields(string(b)) // the last is how often we got a processor
	return len(fields) == 3 && fields[2] != "0", nil
}
