package host

// maxAbove bounds how far up parents that ended are followed.
const maxAbove = 16

// Heir is the process that takes over what an ended one had read and written: the
// kernel adds that to the figures of the parent that waits for it (wait(2);
// wait_task_zombie in kernel/exit.c). ended are those that ended in a window,
// with their parents. Where a parent ended as well, it is the next one above that
// did not, as for a shell that waits for its commands and is waited for; 0 where
// there is none.
func Heir(ended map[int]int, pid int) int {
	parent := ended[pid]
	for range maxAbove {
		next, also := ended[parent]
		if !also || parent == 0 {
			return parent
		}
		parent = next
	}
	return 0
}
