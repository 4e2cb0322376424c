package space

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"iocause/internal/diagnose"
	"iocause/internal/lab/prove"
	"iocause/internal/procfile"
)

// Report is the part of what iocause diagnose prints that is scored.
type Report struct {
	Primary  string  `json:"primary"`
	Victim   Culprit `json:"victim"` // who waits, where somebody does
	Findings []struct {
		Cause      string  `json:"cause"`
		Confidence float64 `json:"confidence"`
		Culprit    Culprit `json:"culprit"`
		Advice     []struct {
			Do     string   `json:"do"`
			Expect string   `json:"expect"`
			Low    *float64 `json:"expect_low"`
			High   *float64 `json:"expect_high"`
		} `json:"advice"`
	} `json:"findings"`
}

// Culprit is who is to blame.
type Culprit struct {
	PID    int    `json:"pid"`
	Comm   string `json:"comm"`
	Cgroup string `json:"cgroup"`
	Device string `json:"device"`
}

// Processors are how the processors' time went, in shares.
type Processors struct {
	Idle   float64 `json:"idle"`
	Stolen float64 `json:"stolen"` // by the hypervisor
}

// diagnose asks iocause and puts its report into the proof, with what the kernel
// counted of the processors and the disk meanwhile. What is cold stays so, as it does
// where the effects are measured, turn by turn.
func (p *Proof) diagnose(ctx context.Context, st *Standing, d, turn time.Duration) (err error) {
	args := []string{"diagnose", "--format", "json", "--duration", d.String()}
	if st.Situation.Targeted {
		args = append(args, "--comm", st.program.comms[0])
		if st.Situation.Program == "node" { // threads of it have other names, the process does not
			args = args[:len(args)-2]
			args = append(args, "--pid", strconv.Itoa(st.running[0].PID))
		}
	}
	ctx, cancel := context.WithTimeout(ctx, d+40*time.Second)
	defer cancel()
	if st.Situation.cold() {
		stop := st.keepCold(ctx, turn)
		defer func() { err = errors.Join(err, stop()) }()
	}
	cmd := exec.CommandContext(ctx, st.binary, args...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	before, written, begun := processors(st.host.Proc("stat")), st.writing(), time.Now()
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("iocause diagnose: %w: %s", err, last(said.Bytes()))
	}
	p.Report, p.Processors = out.Bytes(), processors(st.host.Proc("stat")).since(before)
	p.Writing = float64(st.writing()-written) / float64(time.Since(begun))
	return nil
}

// writing is the time that the disk's requests to write took since it is there, each
// for itself; 0 without a disk.
func (st *Standing) writing() time.Duration {
	if st.disk == nil {
		return 0
	}
	b, err := os.ReadFile(st.host.Proc("diskstats"))
	if err != nil {
		return 0
	}
	disks, err := procfile.ParseDiskstats(b, nil)
	if err != nil {
		return 0
	}
	for i := range disks {
		if disks[i].Name == st.disk.Device {
			return time.Duration(disks[i].WriteTime) * time.Millisecond
		}
	}
	return 0
}

// ticks are what the processors did since boot.
type ticks struct{ all, idle, stolen float64 }

// since are the shares of the time after before.
func (t ticks) since(before ticks) Processors {
	all := max(1, t.all-before.all)
	return Processors{Idle: (t.idle - before.idle) / all, Stolen: (t.stolen - before.stolen) / all}
}

// processors reads /proc/stat; what waits for I/O is idle too, and guests are in
// user's time.
func processors(path string) (t ticks) {
	b, err := os.ReadFile(path)
	if err != nil {
		return t
	}
	s, err := procfile.ParseCPUStat(b, nil)
	if err != nil {
		return t
	}
	for _, v := range s.Times[:procfile.CPUSteal+1] {
		t.all += float64(v)
	}
	t.idle = float64(s.Times[procfile.CPUIdle] + s.Times[procfile.CPUIOWait])
	t.stolen = float64(s.Times[procfile.CPUSteal])
	return t
}

// blames tells whether a culprit is who the remedy takes away: in the terms of
// Remedy.Who.
func (st *Standing) blames(c *Culprit, who string) bool {
	if comm, ok := strings.CutPrefix(who, "comm:"); ok {
		return c.Comm == comm
	}
	switch who {
	case theCgroup:
		return st.cgroup != nil && strings.Contains(c.Cgroup, strings.TrimPrefix(st.cgroup.Path, "/"))
	case theDevice:
		return st.disk != nil && c.Device == st.disk.Device
	}
	return slices.Contains(st.program.comms, c.Comm)
}

// stranger names who waits where that is nobody of the situation: then the report is
// about somebody of whom the remedies tell nothing. "" where it is about the
// situation. Processes that lived for a moment are known by their names and cgroups
// alone. The lab itself, which drops caches, is a stranger, too.
func (st *Standing) stranger(report []byte) (string, error) {
	var r Report
	if err := json.Unmarshal(report, &r); err != nil {
		return "", fmt.Errorf("read the report: %w", err)
	}
	ours := append(slices.Clone(st.program.comms), helpers()...)
	for i := range st.beside {
		ours = append(ours, st.beside[i].comm)
	}
	near := st.home == "" || r.Victim.Cgroup == "" || r.Victim.Cgroup == st.home || st.blames(&r.Victim, theCgroup)
	if st.Situation.Targeted || r.Victim.PID == 0 || near && slices.Contains(ours, r.Victim.Comm) {
		return "", nil
	}
	return fmt.Sprintf("%q (pid %d)", r.Victim.Comm, r.Victim.PID), nil
}

// helpers are what the programs are driven by and the data is read with.
func helpers() []string {
	return []string{"python3", "python3.11", "sh", "bash", "cat", "find", "env", "setpriv", "psql", "mariadb"}
}

// Proof is a situation with what is true of it and what was said of it.
type Proof struct {
	Situation  *Situation      `json:"situation"`
	Effects    []prove.Effect  `json:"effects"`
	Truth      prove.Truth     `json:"truth"`
	Processors Processors      `json:"processors"` // while it was diagnosed
	Writing    float64         `json:"writing"`    // requests to write in flight meanwhile, on average
	Verdict    Verdict         `json:"verdict"`
	Report     json.RawMessage `json:"report,omitempty"`  // what iocause diagnose printed
	Looks      int             `json:"looks"`             // diagnoses; before the last one none named a cause
	Untried    bool            `json:"untried,omitempty"` // the diagnosis named no cause, so no remedy was tried
	Seconds    float64         `json:"seconds"`
}

// Verdict is what was said, held against what is true.
type Verdict struct {
	Primary    string  `json:"primary"`
	Confidence float64 `json:"confidence"`
	Right      bool    `json:"right"`
	Culprit    string  `json:"culprit"` // right, wrong, or "" where none is asked for
	Low        float64 `json:"expect_low,omitempty"`
	High       float64 `json:"expect_high,omitempty"`
	Gained     float64 `json:"gained,omitempty"` // what the remedy of the named cause gave
	Effect     string  `json:"effect"`           // right, wrong, or "" where nothing was promised or tried
}

// effectFactor is how far from the promised interval an effect may be.
const effectFactor = 1.3

// calm are the answers that name nothing that could be mended.
var calm = named(diagnose.Healthy, diagnose.CPUBound)

// primary is what the diagnosis named.
func (p *Proof) primary() (string, error) {
	var r Report
	if err := json.Unmarshal(p.Report, &r); err != nil {
		return "", fmt.Errorf("read the report: %w", err)
	}
	return r.Primary, nil
}

// judge holds a report against the truth.
func (st *Standing) judge(b []byte, effects []prove.Effect, truth *prove.Truth) (Verdict, error) {
	var r Report
	if err := json.Unmarshal(b, &r); err != nil {
		return Verdict{}, fmt.Errorf("read the report: %w", err)
	}
	v := Verdict{Primary: r.Primary, Right: slices.Contains(truth.Causes, r.Primary)}
	if len(r.Findings) == 0 {
		return v, nil
	}
	f := &r.Findings[0]
	v.Confidence = f.Confidence
	e, tried := prove.Of(effects, v.Primary)
	if v.Right && !truth.Healthy() && tried {
		v.Culprit = "wrong"
		for _, e := range effects {
			if e.Failed == "" && e.Factor >= prove.Helps && slices.Contains(e.Causes, v.Primary) && st.blames(&f.Culprit, e.Who) {
				v.Culprit = "right"
			}
		}
	}
	if !tried || len(f.Advice) == 0 || f.Advice[0].Low == nil && f.Advice[0].High == nil {
		return v, nil
	}
	v.Gained = e.Factor
	v.Effect = "right"
	if low := f.Advice[0].Low; low != nil {
		v.Low = *low
		if e.Factor*effectFactor < *low {
			v.Effect = "wrong"
		}
	}
	if high := f.Advice[0].High; high != nil && *high > 0 {
		v.High = *high
		if e.Factor > *high*effectFactor {
			v.Effect = "wrong"
		}
	}
	return v, nil
}
