package predict

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"iocause/internal/predict"
	"iocause/internal/table"
)

func bytes(n float64) string { return table.Value(n, "bytes") }

func percent(share float64) string { return fmt.Sprintf("%.0f %%", share*100) }

// words are whose reads are in question.
func (f *Filter) words() string {
	var of []string
	if len(f.PIDs) > 0 {
		of = append(of, fmt.Sprintf("process %d", f.PIDs[0]))
	}
	if f.Comm != "" {
		of = append(of, "processes called "+f.Comm)
	}
	if f.Cgroup != "" {
		of = append(of, "cgroup "+f.Cgroup)
	}
	if f.File.Ino != 0 {
		of = append(of, "the file")
	}
	if len(of) == 0 {
		return "everybody"
	}
	return strings.Join(of, ", ")
}

// cannot says why nothing can be told, and what to do.
func (p *Prediction) cannot(err error) string {
	next := "Watch for longer (--duration), or while they read."
	switch {
	case errors.Is(err, predict.ErrMapped):
		next = "Only what is read by calls can be predicted; 'iocause files' shows the faults of mapped files."
	case errors.Is(err, predict.ErrNothing):
		next = "Watch for longer, while they read: a few pages of each file are watched. Direct reads (O_DIRECT), tmpfs and what mappings find in the cache do not count."
	}
	return fmt.Sprintf("Cannot tell: %v (%s, within %s). %s", err, p.Of, table.Duration(p.Seconds), next)
}

// elsewhere says so in place of a curve where most of what is read is in the cache of others.
func (p *Prediction) elsewhere() bool {
	more := p.Curve.Elsewhere
	if more <= float64(p.Place.Cache) {
		return false
	}
	p.Curve = nil
	p.Advice = []string{fmt.Sprintf("Cannot tell: at least %s of what is read is cached for others (%s has %s of cache): pages count for the memory cgroup that read them first, and this one's limit does not bound them. Predict for that cgroup (--cgroup), or for the host.",
		bytes(more), p.Place, bytes(float64(p.Place.Cache)))}
	return true
}

// advise says what the curve says.
func (p *Prediction) advise(asked []int64) []string {
	c := p.Curve
	a := c.Judge(p.Place.Memory)
	out := []string{fmt.Sprintf("Now %s of the pages asked for are served from the cache (%s of %s); %s pages a second (%s/s) come from disk.",
		percent1(c.Now), bytes(float64(p.Place.Cache)), p.Place, table.Value(c.Disk, "count"), bytes(c.Disk*predict.PageSize))}
	said := map[int64]bool{p.Place.Memory: true}
	for _, m := range asked {
		if x := c.At(m); x != nil && !said[m] {
			said[m] = true
			out = append(out, p.effect(x))
		}
	}
	switch {
	case c.Disk*p.Seconds < 100:
		out = append(out, "Almost nothing comes from disk: more memory does not help.")
	case !p.Place.full():
		out = append(out, fmt.Sprintf("%s has memory left (%s of cache, %s are possible): the data that comes from disk now is read for the first time or was dropped; more memory does not help until this is used up.",
			upper(p.Place.String()), bytes(float64(p.Place.Cache)), bytes(float64(p.Place.Room))))
	case a.Knee == nil:
		out = append(out, "Even four times the memory saves less than 5 % of the disk reads.")
	default:
		if !said[a.Knee.Memory] {
			out = append(out, p.effect(a.Knee))
		}
		switch {
		case a.Knee.Open: // said
		case a.Ends:
			out = append(out, fmt.Sprintf("%s is enough; larger sizes gain nothing.", sign(a.Knee.Memory-p.Place.Memory)))
		default:
			out = append(out, fmt.Sprintf("More would help still: sizes above four times the memory (%s) are not simulated.", bytes(float64(a.Knee.Memory))))
		}
	}
	if a.Enough != nil && a.Enough.Memory < p.Place.Memory {
		out = append(out, fmt.Sprintf("%s could be taken away (%s left) before more than %s of the reads that are hits now would come from disk.",
			bytes(float64(p.Place.Memory-a.Enough.Memory)), bytes(float64(a.Enough.Memory)), percent(predict.Harmless)))
	} else if len(c.Points) > 0 && c.Points[0].Memory < p.Place.Memory {
		out = append(out, "Nothing can be taken away without more reads from disk.")
	}
	return out
}

// effect is what another size does.
func (p *Prediction) effect(x *predict.Point) string {
	s := fmt.Sprintf("%s (%s in all)", sign(x.Memory-p.Place.Memory), bytes(float64(x.Memory)))
	share := x.Saved
	verb := "saves"
	if share.Value < 0 {
		verb, share = "costs", predict.Share{Value: -share.Value, Low: -share.High, High: -share.Low}
	}
	between := interval(share)
	if verb == "saves" {
		s += fmt.Sprintf(" saves %s of the disk reads", between)
	} else {
		s += fmt.Sprintf(" costs %s more disk reads", between)
	}
	s += fmt.Sprintf("; %s (%s to %s) of the pages are then hits", percent1(x.Hit), strings.TrimSuffix(percent1(x.Low), " %"), percent1(x.High))
	if f, ok := p.Faster(x); ok {
		s += "; reading is then " + times(f.Low, f.High)
	}
	if x.Median != nil && x.P99 != nil {
		s += fmt.Sprintf("; half of the read calls then take at most %s, 99 %% at most %s (%s to %s)",
			table.Duration(x.Median.Value), table.Duration(x.P99.Value), table.Duration(x.P99.Low), table.Duration(x.P99.High))
	}
	if x.Open {
		s += " (the window was too short to fill a cache of that size: watch for longer)"
	}
	return s + "."
}

// interval is a share with its interval; a bound alone where it is no more.
func interval(s predict.Share) string {
	if s.Low == 0 && s.Value == s.High && s.High > 0 {
		return "at most " + percent(s.High)
	}
	return fmt.Sprintf("%s (%s to %s)", percent(s.Value), strings.TrimSuffix(percent(s.Low), " %"), percent(s.High))
}

func times(low, high float64) string {
	if math.Round(low*10) == math.Round(high*10) {
		return fmt.Sprintf("%.1fx as fast", low)
	}
	return fmt.Sprintf("%.1fx to %.1fx as fast", low, high)
}

// caveats are what bounds the prediction.
func (p *Prediction) caveats(t *predict.Trace) (out []string) {
	c := p.Curve
	reads, faults := t.Uses()
	if faults*20 > reads {
		out = append(out, "Files are also used through mappings, whose hits leave no trace: the kernel keeps pages that seem unused here, so the prediction is a bound.")
	}
	if gone := t.Dropped(); gone > 0.1 {
		out = append(out, fmt.Sprintf("%s of the pages were taken out of the cache by others than reclaim: their files were truncated or deleted meanwhile, or the cache was dropped. No size of memory keeps such pages.", percent(gone)))
	}
	if more := c.Elsewhere; more > 0 && more > float64(p.Place.Cache)/4 {
		out = append(out, fmt.Sprintf("At least %s of what is read is cached for other memory cgroups, which this limit does not bound.", bytes(more)))
	}
	if c.Wanders > 0.1 {
		out = append(out, fmt.Sprintf("The access pattern changed while it was watched: the hit ratio differed by %s within the window. Watch for longer (--duration) before you trust this.", percent(c.Wanders)))
	}
	if off := c.Now - c.Model; math.Abs(off) > 0.05 {
		out = append(out, fmt.Sprintf("For the current memory the model predicts %s, but %s were measured: pages are evicted although memory is free, or the cache was being filled. The intervals include this difference.",
			percent1(c.Model), percent1(c.Now)))
	}
	if c.Disk > aheadShare*c.Used {
		further := "how far is not known here, so that hits and saved disk reads may come out lower."
		if c.ReadsAhead() {
			further = "how far is simulated."
		}
		out = append(out, fmt.Sprintf("Read-ahead brings %s pages a second from disk for %s that are used. With more memory the kernel reads further ahead; %s",
			table.Value(c.Disk, "count"), table.Value(c.Used, "count"), further))
	}
	return out
}

// aheadShare is how many times as many pages come from disk as are used, before
// read-ahead is said to be what brings them.
const aheadShare = 1.2

func percent1(share float64) string { return fmt.Sprintf("%.1f %%", share*100) }

// sign is a difference of memory: "4 GiB more".
func sign(n int64) string {
	if n < 0 {
		return bytes(float64(-n)) + " less"
	}
	return bytes(float64(n)) + " more"
}

func upper(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
