package bpf

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// ownEvents begins the names of groups of events in kprobe_events that iocause made,
// before the number of its process: "iocause_1234_89abcdef".
const ownEvents = "iocause_"

// eventPrefix is that of this process, to which a random number is added.
func eventPrefix() string { return ownEvents + strconv.Itoa(os.Getpid()) }

// removeStale takes the events out of kprobe_events that an iocause left behind which
// was killed: of a process that there is no more. One that is in use the kernel keeps
// in any case.
func removeStale(events string, alive func(pid int) bool) error {
	text, err := os.ReadFile(events)
	if err != nil {
		return fmt.Errorf("looking for stale kprobe events: %w", err)
	}
	var stale []string
	for line := range strings.Lines(string(text)) {
		if event, pid := ownEvent(line); event != "" && !alive(pid) {
			stale = append(stale, event)
		}
	}
	if len(stale) == 0 {
		return nil
	}
	f, err := os.OpenFile(events, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return fmt.Errorf("removing stale kprobe events: %w", err)
	}
	defer f.Close()
	var all []error
	for _, event := range stale {
		if _, err := f.WriteString("-:" + event + "\n"); err != nil {
			all = append(all, fmt.Errorf("removing the stale kprobe event %s: %w", event, err))
		}
	}
	return errors.Join(all...)
}

// ownEvent is the event of a line "r4096:iocause_1234_89abcdef/function function" and the
// process that made it; "" where it is of others.
func ownEvent(line string) (event string, pid int) {
	head, _, _ := strings.Cut(line, " ")
	_, event, _ = strings.Cut(head, ":")
	rest, ok := strings.CutPrefix(event, ownEvents)
	number, random, more := strings.Cut(rest, "_")
	pid, err := strconv.Atoi(number)
	if !ok || !more || err != nil || pid <= 0 || !strings.Contains(random, "/") {
		return "", 0
	}
	return event, pid
}

// isAlive tells whether there is a process of this number.
func isAlive(pid int) bool {
	_, err := os.Stat(fmt.Sprintf("/proc/%d", pid))
	return !errors.Is(err, os.ErrNotExist)
}
