package stacks

import (
	"slices"
	"testing"
)

func TestStates(t *testing.T) {
	c := NewClassifier()
	for _, x := range []struct {
		name   string
		how    How
		kernel []string
		user   []string
		want   State
	}{
		{"fsync on ext4", Uninterruptible, []string{"jbd2_log_wait_commit", "jbd2_complete_transaction", "ext4_sync_file", "do_fsync"}, nil, FileSystem},
		{"fsync's own write", Uninterruptible | IOWait, []string{"io_schedule", "folio_wait_bit_common", "folio_wait_writeback", "ext4_sync_file"}, nil, Disk},
		{"mapped read", Uninterruptible | IOWait | Fault, []string{"io_schedule", "folio_wait_bit_common", "filemap_fault", "asm_exc_page_fault"}, nil, FaultDisk},
		{"fault for a lock", Uninterruptible | Lock | MmapLock | Fault, []string{"rwsem_down_read_slowpath", "lock_mm_and_find_vma"}, nil, MMLock},
		{"a fault for nothing known", Uninterruptible | Fault, []string{"x", "asm_exc_page_fault"}, nil, FaultOther},
		{"kernel mutex", Uninterruptible | Lock, []string{"schedule_preempt_disabled", "__mutex_lock.constprop.0"}, nil, KernelLock},
		{"kernel mutex before we looked", Earlier, []string{"schedule_preempt_disabled", "__mutex_lock.constprop.0"}, nil, KernelLock},
		{"mutex", Mutex, []string{"futex_do_wait", "__futex_wait", "futex_wait", "do_futex"}, []string{"pthread_mutex_lock"}, UserMutex},
		{"condition", 0, []string{"futex_do_wait", "__futex_wait", "futex_wait", "do_futex"}, []string{"pthread_cond_wait"}, Futex},
		{"Go thread without work", 0, []string{"futex_do_wait", "futex_wait"}, []string{"runtime.futex", "runtime.mPark", "runtime.stopm"}, Idle},
		{"arguments like a mutex's", Mutex, []string{"anon_pipe_read", "vfs_read"}, nil, IPC},
		{"TCP", 0, []string{"schedule_timeout", "sk_wait_data", "tcp_recvmsg_locked"}, nil, Network},
		{"UDP", 0, []string{"schedule_timeout", "__skb_wait_for_more_packets", "__skb_recv_udp", "udp_recvmsg"}, nil, Network},
		{"Unix datagram", 0, []string{"schedule_timeout", "__skb_wait_for_more_packets", "__unix_dgram_recvmsg"}, nil, IPC},
		{"accept", 0, []string{"schedule_timeout", "inet_csk_accept", "inet_accept"}, nil, Idle},
		{"epoll", 0, []string{"schedule_hrtimeout_range", "ep_poll", "do_epoll_wait"}, nil, Idle},
		{"sleep", 0, []string{"do_nanosleep", "hrtimer_nanosleep"}, nil, Idle},
		{"kernel worker", KernelThread | NoLoad, []string{"worker_thread", "kthread"}, nil, Idle},
		{"kernel thread at work", KernelThread | Uninterruptible | IOWait, []string{"io_schedule", "blk_mq_get_tag"}, nil, Disk},
		{"writer held up", Uninterruptible, []string{"io_schedule_timeout", "balance_dirty_pages", "balance_dirty_pages_ratelimited_flags"}, nil, DirtyPause},
		{"reclaim", Uninterruptible | IOWait, []string{"reclaim_throttle", "shrink_node"}, nil, Reclaim},
		{"preempted in a lock", Preempted | Lock, []string{"preempt_schedule_irq"}, nil, Descheduled},
		{"preempted before we looked", Earlier, []string{"preempt_schedule_common", "__cond_resched"}, nil, Descheduled},
		{"stopped", Stopped, []string{"do_signal_stop"}, nil, Halted},
		{"no names", Uninterruptible | IOWait, []string{"", ""}, nil, Disk},
		{"no names, no flags", 0, nil, nil, Other},
		{"runs the program", Runs, nil, nil, OnUser},
		{"runs the kernel", Runs, []string{"copy_page"}, nil, OnKernel},
	} {
		if got := c.State(x.how, x.kernel, x.user); got != x.want {
			t.Errorf("%s: %s, want %s", x.name, got, x.want)
		}
	}
}

// Groups and rules speak of states that there are.
func TestStateNames(t *testing.T) {
	for name, group := range Groups() {
		for _, s := range group {
			if !slices.Contains(States(), s) {
				t.Errorf("group %s has %s", name, s)
			}
		}
	}
	for _, r := range rules() {
		if !slices.Contains(States(), r.state) {
			t.Errorf("a rule makes %s", r.state)
		}
	}
}

func TestWalkFrames(t *testing.T) {
	memory := map[uint64]uint64{
		0x1000: 0x1040, 0x1008: 0xa1,
		0x1040: 0x1080, 0x1048: 0xa2,
		0x1080: 0, 0x1088: 0xa3,
		0x2000: 0x2000, 0x2008: 0xb1, // points to itself
		0x3000: 0x2f00, 0x3008: 0xc1, // and downwards
	}
	read := func(at uint64) (uint64, bool) {
		v, ok := memory[at]
		return v, ok
	}
	for _, c := range []struct {
		frame uint64
		want  []uint64
	}{
		{0x1000, []uint64{1, 0xa1, 0xa2, 0xa3}},
		{0x2000, []uint64{1, 0xb1}},
		{0x3000, []uint64{1, 0xc1}},
		{0x1001, []uint64{1}},
		{0x9000, []uint64{1}},
		{0, []uint64{1}},
	} {
		if got := walkFrames(1, c.frame, read); !slices.Equal(got, c.want) {
			t.Errorf("from %#x: %#x, want %#x", c.frame, got, c.want)
		}
	}
}

// When there are too many rows the largest stay, and the time of the others does.
func TestFold(t *testing.T) {
	p := &Probe{rows: map[stacksKey]*stacksRow{}, stacks: map[uint64][]uint64{}}
	for i := range uint64(maxRows + 1) {
		p.rows[stacksKey{Kernel: i + 2, Tid: 7, Tgid: 7}] = &stacksRow{Ns: i + 1, Count: 1}
	}
	p.fold()
	var sum, count, largest, lost uint64
	for k, r := range p.rows {
		sum += r.Ns
		count += r.Count
		if k.Kernel == lostStack {
			lost += r.Count
		} else {
			largest = max(largest, r.Ns)
		}
	}
	const n = maxRows + 1
	if sum != n*(n+1)/2 || count != n {
		t.Errorf("%d ns in %d waits are left, want %d in %d", sum, count, n*(n+1)/2, n)
	}
	if len(p.rows) != maxRows/2+1 || largest != n || lost != n-maxRows/2 || p.folded.rows != int(lost) {
		t.Errorf("%d rows, the largest %d, %d without stack, %d folded", len(p.rows), largest, lost, p.folded.rows)
	}
}
