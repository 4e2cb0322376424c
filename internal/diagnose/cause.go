package diagnose

import "iocause/internal/sample"

// Cause is one entry of the closed list. Its Judge is pure.
type Cause struct {
	ID    ID
	Title string // what is wrong, in one line
	// Needs are the metrics without which the cause is not known; of each
	// inner list one suffices.
	Needs [][]sample.Metric
	// Over names the causes that this one explains: when both hold, they
	// contribute and this one is nearer to the root.
	Over []ID
	// Compares tells of a cause that needs another window to compare with.
	Compares bool
	Judge    func(*Case) Verdict
}

// Verdict is one cause's answer for one case.
type Verdict struct {
	Answer     Answer
	Confidence float64
	Weight     float64 // share of what holds the victim up that it explains, 0 to 1
	WeightOf   string  // what that is a share of; "" stands for the usual: waiting, or I/O in flight
	Culprit    Culprit
	Evidence   []Evidence
	Why        string // for no: what rules it out; for cannot tell: what is missing
	Disprove   string
	Advice     []Advice
}

func no(why string) Verdict { return Verdict{Answer: No, Why: why} }

func cannotTell(missing string) Verdict { return Verdict{Answer: CannotTell, Why: missing} }

// refuse is an answer that comes instead of what was asked for.
func refuse(v Verdict) *Verdict { return &v }
