package html

// color of a state: waits for I/O are blue, for locks red, for memory violet,
// for others green, for nothing grey, for a processor yellow; running is orange.
func color(state string) string {
	c, ok := map[string]string{
		"disk": "#6ea8e8", "filesystem": "#8fc1f5", "fault_disk": "#5fb3d9", "dirty_pause": "#9bb0ea",
		"mmap_lock": "#f08a80", "kernel_lock": "#f5a59d", "mutex": "#ea94ad", "futex": "#f3bccb",
		"fault": "#c9a4ea", "reclaim": "#b294e6",
		"network": "#86cf98", "ipc": "#aadba6",
		"idle": "#c3c7cc", "stopped": "#aeb4bb", "other": "#d3cabd",
		"uninterruptible": "#6ea8e8", "sleeping": "#c3c7cc",
		"runnable": "#f0d264", "preempted": "#e5c07b",
		"user": "#f5ab6b", "system": "#f3c58f",
	}[state]
	if !ok {
		return "#f5ab6b"
	}
	return c
}
