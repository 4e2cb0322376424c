package incident

import (
	"context"
	"time"

	"iocause/internal/host"
	"iocause/internal/source/probe/stacks"
	"iocause/internal/tool/latency"
	"iocause/internal/tool/mem"
	"iocause/internal/tool/profile"
	"iocause/internal/tool/resident"
	"iocause/internal/tool/threads"
	"iocause/internal/tool/trace"
)

// Kinds is all evidence of an incident, in the order in which it is shown.
// program names, in what is kept, who observed it.
func Kinds(h *host.Host, program string) []Kind {
	return []Kind{
		{Section: SectionRecording, Type: TypeRecording, // of the window that was judged
			Views: []View{{Command: "files"}, {Command: "disk"}, {Command: "evictions"}}},
		{Section: SectionTop, Type: TypeRecording, // of the agent
			Views: []View{{Command: "top"}}},
		{Section: SectionThreads, Type: TypeJSON, Turn: 1, Watches: true,
			Observe: func(ctx context.Context, l *Gathering) ([]byte, error) {
				seen, err := threads.Observe(ctx, h, l.Length)
				if err == nil && l.Victim == "" {
					l.Victim = seen.MostHeldUp()
				}
				return observed(seen, err)
			},
			Views: []View{{Command: "threads", Args: []string{"--by", "process"},
				Lacking: "it has what processes waited for, not the states of every thread",
				Instead: "see 'iocause diagnose --recording', or watch with 'iocause threads'"}}},
		{Section: SectionLatency, Type: TypeJSON, Turn: 6, Watches: true,
			Observe: func(ctx context.Context, l *Gathering) ([]byte, error) {
				return observed(latency.Observe(ctx, h, l.Length))
			},
			// Without stacks, which are long.
			Views: []View{{Command: "latency", Args: []string{"--slow", "0"},
				Lacking: "it has no system calls",
				Instead: "see 'iocause disk --by latency --recording' for devices, or watch with 'iocause latency'"}}},
		{Section: SectionOffCPU, Type: TypeJSON, Turn: 2, Watches: true,
			Observe: func(ctx context.Context, l *Gathering) ([]byte, error) {
				waits := stacks.Options{Min: time.Millisecond, Comm: l.Victim}
				return observed(profile.Observe(ctx, h, profile.Options{Options: waits, Length: l.Length}))
			},
			Views: []View{{Command: "offcpu",
				Lacking: "it has how long processes waited, not in which code",
				Instead: "keep stacks with 'iocause offcpu -o FILE.pb.gz', or see 'iocause diagnose --recording'"}}},
		{Section: SectionOnCPU, Type: TypeJSON, Turn: 7, Watches: true,
			// Of all processes: who has the processors may be another than who waits.
			Observe: func(ctx context.Context, l *Gathering) ([]byte, error) {
				runs := stacks.Options{OnCPU: true, Hz: profile.UsualHz}
				return observed(profile.Observe(ctx, h, profile.Options{Options: runs, Length: l.Length}))
			},
			Views: []View{{Command: "oncpu",
				Lacking: "it has how long processes ran, not in which code",
				Instead: "keep stacks with 'iocause oncpu -o FILE.pb.gz', or see 'iocause diagnose --recording'"}}},
		{Section: SectionTrace, Type: TypeTrace, Turn: 3, Watches: true,
			Observe: func(ctx context.Context, l *Gathering) ([]byte, error) { return trace.Keep(ctx, h, program, l.Length) },
			Views: []View{{Command: "trace", Args: []string{"--summary"},
				Lacking: "it has the sums of each window, not single I/Os",
				Instead: "keep these with 'iocause trace -o FILE' and read them with -i; see 'iocause disk --recording' for the sums"},
				{Command: "burst", Long: true,
					Lacking: "it has I/O in steps of 10 ms, not of 1 ms",
					Instead: "'iocause diagnose --recording' finds bursts of 10 ms and more"}}},
		{Section: SectionResident, Type: TypeJSON, Turn: 4,
			Observe: func(ctx context.Context, _ *Gathering) ([]byte, error) { return observed(cachedFiles(ctx, h)) },
			Views: []View{{Command: "resident",
				Lacking: "it has what entered and left the page cache, not its whole content",
				Instead: "see 'iocause files --recording' and 'iocause cache --recording' for that"}}},
		{Section: SectionMem, Type: TypeJSON, Turn: 5,
			Observe: func(context.Context, *Gathering) ([]byte, error) {
				return observed(mem.Observe(h, mem.Options{Flags: mem.Sample}))
			},
			Views: []View{{Command: "mem",
				Lacking: "it has the sums of /proc/meminfo, not the parts, which need every page's flags and every process's mappings",
				Instead: "see 'iocause use --recording' for the sums"}}},
	}
}

// cachedFiles is the page cache by file.
func cachedFiles(ctx context.Context, h *host.Host) (*resident.Cache, error) {
	w := resident.Open(h)
	defer w.Close()
	now, err := w.Snapshot(ctx, func(int) {})
	if err != nil {
		return nil, err
	}
	return now, w.Keep(now)
}

// observed writes what a tool observed.
func observed(x any, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	return JSON(x)
}
