package stacks

import (
	"slices"
	"strings"
)

// How tells what is known of a wait besides its stacks; in the order of enum
// how in rows.bpf.h.
type How uint32

// The bits of How.
const (
	Preempted How = 1 << iota
	IOWait
	Uninterruptible
	Stopped
	Lock
	MmapLock
	KernelThread
	Mutex // if it is a futex
	Fault // not in a system call
	Earlier
	GoesOn
	NoLoad
	Runs
)

// State is what a thread waits for, or where it runs. The names are those that
// are printed and that --state takes.
type State string

// The states.
const (
	Disk        State = "disk"        // block I/O
	FileSystem  State = "filesystem"  // a journal commit, a log, a network file system or FUSE
	FaultDisk   State = "fault_disk"  // block I/O in a page fault
	FaultOther  State = "fault"       // a page fault that waits for something else
	DirtyPause  State = "dirty_pause" // paused in balance_dirty_pages
	Reclaim     State = "reclaim"     // asleep in direct reclaim
	MMLock      State = "mmap_lock"   // the process's mmap_lock
	KernelLock  State = "kernel_lock" // another lock of the kernel
	UserMutex   State = "mutex"       // a contended mutex, semaphore or file lock of the program
	Futex       State = "futex"       // another futex: condition variable, join, parked thread
	Network     State = "network"     // an Internet or vsock socket
	IPC         State = "ipc"         // a pipe, a Unix socket or a message queue
	Idle        State = "idle"        // sleep, poll, wait for children, terminals, idle kernel threads
	Halted      State = "stopped"     // by a signal, a debugger or the freezer
	Other       State = "other"       // blocked, for a reason that no rule knows
	Runnable    State = "runnable"    // woken, waits for a processor
	Descheduled State = "preempted"   // lost the processor, waits for one
	OnUser      State = "user"        // runs the program's code
	OnKernel    State = "system"      // runs the kernel's code
)

// States are all states, in the order of legends.
func States() []State {
	return []State{Disk, FileSystem, FaultDisk, FaultOther, DirtyPause, Reclaim, MMLock, KernelLock, UserMutex, Futex,
		Network, IPC, Idle, Halted, Other, Runnable, Descheduled, OnUser, OnKernel}
}

// Groups are names for several states.
func Groups() map[string][]State {
	return map[string][]State{
		"all":     States(),
		"io":      {Disk, FileSystem, FaultDisk, DirtyPause},
		"lock":    {MMLock, KernelLock, UserMutex, Futex},
		"memory":  {FaultDisk, FaultOther, Reclaim},
		"net":     {Network},
		"sleep":   {Idle},
		"waiting": {Runnable, Descheduled},
	}
}

// rule is what a thread waits for that sleeps inside a kernel function.
type rule struct {
	state     State
	functions []string // a name, or the beginning of one before "*"
}

// rules name kernel functions. The innermost function of a stack that a rule
// names counts; a name that a kernel does not have does no harm.
func rules() []rule {
	return []rule{
		{DirtyPause, []string{"balance_dirty_pages*"}},
		{Reclaim, []string{"throttle_direct_reclaim", "reclaim_throttle", "try_to_free_*", "*mem_cgroup_handle_over_high"}},
		{FileSystem, []string{
			"jbd2_*", "__jbd2_*", "start_this_handle", "wait_transaction_*", "add_transaction_credits", "do_get_write_access", "ext4_fc_*",
			"xlog_*", "xfs_log_*", "xfs_ail_*", "xfs_buf_lock",
			"btrfs_commit_transaction", "btrfs_wait_*", "wait_current_trans", "btrfs_sync_log", "wait_log_commit", "wait_for_writer",
			"btrfs_start_ordered_extent*", "handle_reserve_ticket", "__reserve_bytes", "f2fs_*",
			"nfs_wait_*", "nfs4_wait_*", "rpc_wait_*", "wait_for_response", "p9_client_*", "ceph_*", "request_wait_answer", "fuse_*", "fanotify_get_response", "fanotify_handle_event",
			"*inode_wait_for_writeback", "wb_wait_for_completion", "sync_inodes_sb", "*inode_dio_wait", "freeze_super", "sb_wait_write",
		}},
		{Disk, []string{
			"submit_bio_wait", "blk_execute_rq*", "folio_wait_*", "filemap_get_pages", "__filemap_get_folio*", "wait_on_buffer",
			"__wait_on_buffer", "blk_mq_get_tag", "rq_qos_wait", "__iomap_dio_rw", "iomap_dio_*", "read_events", "wait_barrier", "md_*",
		}},
		{KernelLock, []string{
			"rwsem_down_*", "__mutex_lock*", "mutex_lock*", "percpu_rwsem_wait", "__percpu_down_read", "rt_mutex_slowlock*",
			"__rt_mutex_slowlock*", "__down", "__down_*", "down_read*", "down_write*",
		}},
		{MMLock, []string{"vma_start_write", "__vma_start_write", "vma_mark_detached", "__vma_enter_locked"}},
		{UserMutex, []string{"locks_lock_inode_wait", "posix_lock_inode_wait", "flock_lock_inode_wait", "do_semtimedop*", "__do_semtimedop"}},
		{Futex, []string{"futex_wait*", "do_futex", "__futex_wait", "futex_lock_pi"}},
		{IPC, []string{
			"pipe_*", "anon_pipe_*", "wait_for_partner", "unix_*", "__unix_*", "netlink_*", "do_msgrcv", "do_msgsnd", "wq_sleep",
		}},
		{Network, []string{
			"tcp_*", "udp_*", "inet_*", "sk_wait_data", "sk_stream_wait_*", "__skb_recv_udp", "packet_recvmsg", "vsock_*", "__lock_sock",
		}},
		{Halted, []string{"do_freezer_trap", "__refrigerator", "ptrace_stop", "do_signal_stop"}},
		{Idle, []string{
			"hrtimer_nanosleep", "do_nanosleep", "common_nsleep*", "ep_poll", "do_epoll_wait", "do_poll*", "do_sys_poll", "do_select", "core_sys_select",
			"do_wait", "kernel_wait*", "sigsuspend", "do_sigtimedwait", "__do_sys_pause", "wait_for_vfork_done", "kernel_clone", "io_cqring_wait", "io_uring_*",
			"n_tty_read", "tty_read", "eventfd_read", "timerfd_read*", "inotify_read", "signalfd_read*", "fanotify_read", "devkmsg_read", "do_syslog",
			"inet_csk_accept",
			"smpboot_thread_fn", "kthread_worker_fn", "worker_thread", "rescuer_thread", "kswapd", "rcu_*", "kauditd_thread", "msleep*", "usleep_*",
		}},
		{Descheduled, []string{
			"preempt_schedule*", "irqentry_exit*", "exit_to_user_mode_*", "__cond_resched", "do_sched_yield", "raw_irqentry_exit_cond_resched",
		}},
	}
}

// Classifier tells states. It is not safe for concurrent use.
type Classifier struct {
	exact    map[string]State
	prefixes []prefix
	suffixes []prefix
	known    map[string]State // answers so far, "" for no rule
}

type prefix struct {
	text  string
	state State
}

// NewClassifier prepares the rules.
func NewClassifier() *Classifier {
	c := &Classifier{exact: map[string]State{}, known: map[string]State{}}
	for _, r := range rules() {
		for _, name := range r.functions {
			start, isPrefix := strings.CutSuffix(name, "*")
			end, isSuffix := strings.CutPrefix(name, "*")
			switch {
			case isPrefix:
				c.prefixes = append(c.prefixes, prefix{start, r.state})
			case isSuffix:
				c.suffixes = append(c.suffixes, prefix{end, r.state})
			default:
				c.exact[name] = r.state
			}
		}
	}
	return c
}

// of is the state that a kernel function stands for, "" for none.
func (c *Classifier) of(function string) State {
	if s, ok := c.known[function]; ok {
		return s
	}
	name, _, _ := strings.Cut(function, ".") // .cold, .part.0, .isra.0
	s, ok := c.exact[name]
	for i := 0; !ok && i < len(c.prefixes); i++ {
		if strings.HasPrefix(name, c.prefixes[i].text) {
			s, ok = c.prefixes[i].state, true
		}
	}
	for i := 0; !ok && i < len(c.suffixes); i++ {
		if strings.HasSuffix(name, c.suffixes[i].text) {
			s, ok = c.suffixes[i].state, true
		}
	}
	c.known[function] = s
	return s
}

// isParked tells functions in which a run-time keeps threads that have nothing
// to do: Go's, whose names are known whatever the program is.
func isParked(function string) bool {
	switch function {
	case "runtime.stopm", "runtime.sysmon", "runtime.templateThread", "os/signal.signal_recv", "runtime.stoplockedm":
		return true
	}
	return false
}

// State is what a thread waited for. kernel and user are the names of its
// functions, innermost first, "" for what has no name.
func (c *Classifier) State(how How, kernel, user []string) State {
	s := c.kernelState(how, kernel)
	if s == Futex && slices.ContainsFunc(user, isParked) {
		return Idle
	}
	return s
}

func (c *Classifier) kernelState(how How, kernel []string) State {
	if how&Runs != 0 {
		if len(kernel) > 0 {
			return OnKernel
		}
		return OnUser
	}
	if how&Preempted != 0 {
		return Descheduled
	}
	if how&Stopped != 0 {
		return Halted
	}
	var found State
	for _, name := range kernel {
		if found = c.of(name); found != "" {
			break
		}
	}
	switch {
	case found == DirtyPause || found == Reclaim || found == MMLock || found == Halted:
		return found
	case how&MmapLock != 0:
		return MMLock
	case how&Lock != 0 || found == KernelLock:
		return KernelLock
	case how&NoLoad != 0:
		return Idle
	case how&IOWait != 0 && how&Fault != 0, found == Disk && how&Fault != 0:
		return FaultDisk
	case how&IOWait != 0:
		return Disk
	case found == Futex && how&Mutex != 0:
		return UserMutex
	case found == Descheduled && how&Earlier == 0:
		return Other // it slept on its way out: it was not preempted
	case found != "":
		return found
	case how&Fault != 0:
		return FaultOther
	case how&KernelThread != 0 && how&Uninterruptible == 0:
		return Idle
	}
	return Other
}
