package diagnose

import (
	"strings"
	"testing"
	"time"

	"iocause/internal/sample"
)

// Who drops what the victim reads is named: another program, or the victim itself where
// it reads the same again. Who reads a file once and drops it does no harm.
func TestWhoDropsIt(t *testing.T) {
	for name, c := range map[string]struct {
		by   int
		size int64 // pages of the file
		want string
	}{
		"another":           {by: 11, size: 100_000, want: "keep evictor from dropping"},
		"itself, and again": {by: 10, size: 10_000, want: "have reader leave its files"},
		"itself, once":      {by: 10, size: 100_000, want: "let it warm up"},
		"nobody":            {size: 100_000, want: "let it warm up"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine()
			m.process(10, "reader", "read", thread{wait: 8, cpu: 1})
			m.process(11, "evictor", "other", thread{wait: .01, cpu: .1})
			m.busy(0.9)
			file := sample.FileID{Dev: 1, Ino: 7}
			m.PutFile(file, sample.File{Path: "/data", Size: c.size * pageSize})
			for _, e := range []sample.Entity{{PID: 10}, {PID: 10, File: file}} {
				for _, x := range []sample.Metric{sample.CacheAccesses, sample.CacheMisses, sample.CacheInserted} {
					m.put(x, e, 100_000)
				}
			}
			m.put(sample.CacheDropped, sample.Entity{PID: c.by, File: file}, 90_000)
			k := newCase(m.Window(epoch.Add(testSeconds*time.Second)), Target{})
			cold := coldCache()
			v := cold.Judge(k)
			if v.Answer != Yes || !strings.HasPrefix(v.Advice[0].Do, c.want) {
				t.Errorf("%q (%s), advice %+v; want %q", v.Answer, v.Why, v.Advice, c.want)
			}
		})
	}
}
