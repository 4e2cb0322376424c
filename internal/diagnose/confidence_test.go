package diagnose

import (
	"testing"
	"time"

	"iocause/internal/sample"
)

// committer waits for its syncs for a part of its time awake.
func committer(share float64) *Report {
	const seconds = 10.0
	r := sample.NewRecorder(epoch)
	e := sample.Entity{PID: 7}
	r.PutProcess(7, sample.Process{Comm: "committer"})
	r.Put(sample.WaitIO, sample.Entity{PID: 7, Class: sample.ClassSync}, share*seconds, "test")
	r.Put(sample.WaitThreads, e, 1, "test")
	r.Put(sample.WaitAwake, e, seconds, "test")
	r.Put(sample.WaitWorst, e, share*seconds, "test")
	r.Put(sample.WaitWeighted, e, share*share*seconds, "test")
	r.Put(sample.WaitHeld, e, 1, "test")
	r.Put(sample.WaitRan, e, 1, "test")
	r.Put(sample.ProcUser, e, (1-share)*seconds, "test")
	return Judge(r.Window(epoch.Add(seconds*time.Second)), Target{})
}

// Who waits for a twentieth more than what counts as well may gain nothing: that is
// less sure than of who does nothing but wait. Nothing is surer than it turned out.
func TestConfidenceFollowsWhatIsAtStake(t *testing.T) {
	for _, c := range []struct{ share, least, most float64 }{
		{0.11, 0.7, 0.8},
		{0.18, 0.83, 0.9},
		{0.30, 0.95, mostSure},
		{0.99, 0.95, mostSure},
	} {
		r := committer(c.share)
		if r.Primary != SyncWrites {
			t.Fatalf("of %g: %s", c.share, r.Primary)
		}
		if got := r.Findings[0].Confidence; got < c.least || got > c.most {
			t.Errorf("waiting %g of the time: confidence %g, want %g to %g", c.share, got, c.least, c.most)
		}
	}
}

// A cause without which the program would be hardly faster is none, however clear it
// is that it applies.
func TestCauseThatTakesLittle(t *testing.T) {
	const seconds = 10.0
	r := sample.NewRecorder(epoch)
	e := sample.Entity{PID: 7}
	r.PutProcess(7, sample.Process{Comm: "mixed"})
	for class, t := range map[string]float64{sample.ClassSync: 0.45, sample.ClassOther: 0.75} {
		r.Put(sample.WaitIO, sample.Entity{PID: 7, Class: class}, t, "test")
	}
	r.Put(sample.WaitThreads, e, 1, "test")
	r.Put(sample.WaitAwake, e, seconds, "test")
	r.Put(sample.WaitWorst, e, 1.2, "test")
	r.Put(sample.WaitWeighted, e, 0.144, "test")
	r.Put(sample.WaitHeld, e, 1, "test")
	r.Put(sample.WaitRan, e, 1, "test")
	rep := Judge(r.Window(epoch.Add(seconds*time.Second)), Target{})
	for _, f := range rep.Findings {
		if f.Cause == SyncWrites {
			t.Errorf("named for 4.5 %% of the time: %+v", f)
		}
	}
}
