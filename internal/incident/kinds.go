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
			Observe: func(ctx context.Context, l *Look) ([]byte, error) {
				seen, err := threads.Observe(ctx, h, l.Length)
				if err == nil && l.Victim == "" {
					l.Victim = seen.MostHeldUp()
				}
				return observed(seen, err)
			},
			Views: []View{{Command: "threads", Args: []string{"--by", "process"}}}},
		{Section: SectionLatency, Type: TypeJSON, Turn: 6, Watches: true,
			Observe: func(ctx context.Context, l *Look) ([]byte, error) { return observed(latency.Observe(ctx, h, l.Length)) },
			Views:   []View{{Command: "latency", Args: []string{"--slow", "0"}}}}, // stacks are long
		{Section: SectionOffCPU, Type: TypeJSON, Turn: 2, Watches: true,
			Observe: func(ctx context.Context, l *Look) ([]byte, error) {
				waits := stacks.Options{Min: time.Millisecond, Comm: l.Victim}
				return observed(profile.Observe(ctx, h, profile.Options{Options: waits, Length: l.Length}))
			},
			Views: []View{{Command: "offcpu"}}},
		{Section: SectionOnCPU, Type: TypeJSON, Turn: 7, Watches: true,
			// Of all processes: who has the processors may be another than who waits.
			Observe: func(ctx context.Context, l *Look) ([]byte, error) {
				runs := stacks.Options{OnCPU: true, Hz: profile.UsualHz}
				return observed(profile.Observe(ctx, h, profile.Options{Options: runs, Length: l.Length}))
			},
			Views: []View{{Command: "oncpu"}}},
		{Section: SectionTrace, Type: TypeTrace, Turn: 3, Watches: true,
			Observe: func(ctx context.Context, l *Look) ([]byte, error) { return trace.Keep(ctx, h, program, l.Length) },
			Views:   []View{{Command: "trace", Args: []string{"--summary"}}, {Command: "burst", Long: true}}},
		{Section: SectionResident, Type: TypeJSON, Turn: 4,
			Observe: func(ctx context.Context, _ *Look) ([]byte, error) { return observed(cachedFiles(ctx, h)) },
			Views:   []View{{Command: "resident"}}},
		{Section: SectionMem, Type: TypeJSON, Turn: 5,
			Observe: func(context.Context, *Look) ([]byte, error) {
				return observed(mem.Observe(h, mem.Options{Flags: mem.Sample}))
			},
			Views: []View{{Command: "mem"}}},
	}
}

// cachedFiles is the page cache by file.
func cachedFiles(ctx context.Context, h *host.Host) (*resident.Cache, error) {
	w := resident.Open(h)
	defer w.Close()
	now, err := w.Look(ctx, func(int) {})
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
