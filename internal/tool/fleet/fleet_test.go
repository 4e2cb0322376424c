package fleet

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/fleet"
	"iocause/internal/fleet/fleettest"
)

func certificate(s *httptest.Server) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
}

const (
	intervals = 12
	every     = 5 * time.Minute
)

// lines writes what the agents of a fleet send in an hour that ends at to, as
// text with times: findings and facts every interval, counters of disks twice in
// each.
func lines(w io.Writer, f *fleettest.Fleet, to time.Time) {
	for i := range f.Hosts {
		h := &f.Hosts[i]
		from := to.Add(h.Clock - intervals*every)
		if h.Cause == "latencies" {
			histograms(h.Name, from, func(series string, v float64, at time.Time) { fmt.Fprintf(w, "%s %g %d\n", series, v, at.UnixMilli()) })
			continue
		}
		labels := fmt.Sprintf("instance=%q,machine=%q", h.Name, strconv.Itoa(i))
		facts, settings := labels, labels
		for _, x := range h.Facts {
			switch {
			case strings.HasPrefix(x.Setting, "vm_"):
				settings += fmt.Sprintf(",%s=%q", x.Setting, x.Value)
			case x.Setting != "device.model":
				facts += fmt.Sprintf(",%s=%q", x.Setting, x.Value)
			}
		}
		for n := range intervals + 1 {
			at := from.Add(time.Duration(n) * every)
			cause := "healthy"
			if n >= intervals/2 {
				cause = h.Cause // in the second half
			}
			fmt.Fprintf(w, "iocause_finding{%s,cause=%q,rank=\"primary\",of=\"look\"} 0.5 %d\n", labels, cause, at.UnixMilli())
			fmt.Fprintf(w, "iocause_host_info{%s} 1 %d\niocause_host_settings{%s} 1 %d\n", facts, at.UnixMilli(), settings, at.UnixMilli())
			for _, d := range h.Disks {
				fmt.Fprintf(w, "iocause_device_info{%s,device=%q,model=%q} 1 %d\n", labels, d.Device, d.Model, at.UnixMilli())
			}
		}
		for _, d := range h.Disks {
			counters(w, labels+fmt.Sprintf(",device=%q", d.Device), &d, from)
		}
	}
}

// counters are those of one disk: what it does in an interval rises evenly.
func counters(w io.Writer, labels string, d *fleettest.Disk, from time.Time) {
	var reads, writes, readTime, writeTime, readBytes, writeBytes float64
	tell := func(at time.Time) {
		for _, c := range []struct {
			name  string
			value float64
		}{{"reads", reads}, {"writes", writes}, {"read_time_seconds", readTime}, {"write_time_seconds", writeTime}, {"read_bytes", readBytes}, {"write_bytes", writeBytes}} {
			fmt.Fprintf(w, "iocause_disk_%s_total{%s} %g %d\n", c.name, labels, c.value, at.UnixMilli())
		}
	}
	for n := range d.Loads {
		l := &d.Loads[n]
		for half := range 2 {
			tell(from.Add(time.Duration(n)*every + time.Duration(half)*every/2))
			seconds := every.Seconds() / 2
			reads, writes = reads+l.Ops*l.Reads*seconds, writes+l.Ops*(1-l.Reads)*seconds
			readTime, writeTime = readTime+l.Depth*l.Reads*seconds, writeTime+l.Depth*(1-l.Reads)*seconds
			readBytes, writeBytes = readBytes+l.Bytes*l.Reads*seconds, writeBytes+l.Bytes*(1-l.Reads)*seconds
		}
	}
	tell(from.Add(time.Duration(len(d.Loads)) * every))
}

// freePort is one that nobody listens on.
func freePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// start runs an engine and waits until it answers.
func start(t *testing.T, at string, args ...string) {
	t.Helper()
	c := exec.CommandContext(t.Context(), args[0], args[1:]...)
	var log bytes.Buffer
	c.Stderr = &log
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	for began := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		resp, err := http.Get("http://" + at + "/api/v1/query?query=1")
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode == 200 {
				return
			}
		}
		if time.Since(began) > time.Minute {
			t.Fatalf("%s does not answer: %v\n%s", args[0], err, log.String())
		}
	}
}

// inPrometheus has a fleet's hour in a real Prometheus and gives its address.
func inPrometheus(t *testing.T, f *fleettest.Fleet, to time.Time) string {
	t.Helper()
	for _, tool := range []string{"prometheus", "promtool"} {
		_, err := exec.LookPath(tool)
		bpftest.Need(t, tool, err)
	}
	dir := t.TempDir()
	// OpenMetrics wants the samples of a name together, and times in seconds.
	var text bytes.Buffer
	lines(&text, f, to)
	sorted := strings.Split(strings.TrimSpace(text.String()), "\n")
	name := func(l string) string { n, _, _ := strings.Cut(l, "{"); return n }
	slices.SortStableFunc(sorted, func(a, b string) int { return strings.Compare(name(a), name(b)) })
	file, err := os.Create(filepath.Join(dir, "in"))
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range sorted {
		at := strings.LastIndexByte(l, ' ')
		fmt.Fprintf(file, "%s %s.%s\n", l[:at], l[at+1:len(l)-3], l[len(l)-3:])
	}
	fmt.Fprintln(file, "# EOF")
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("promtool", "tsdb", "create-blocks-from", "openmetrics", file.Name(), filepath.Join(dir, "data")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %.2000s", err, out)
	}
	if err := os.WriteFile(filepath.Join(dir, "config.yaml"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	at := freePort(t)
	start(t, at, "prometheus", "--config.file="+dir+"/config.yaml", "--storage.tsdb.path="+dir+"/data", "--storage.tsdb.retention.time=10y", "--web.listen-address="+at)
	return "http://" + at
}

// inVictoria is the same in VictoriaMetrics.
func inVictoria(t *testing.T, f *fleettest.Fleet, to time.Time) string {
	t.Helper()
	_, err := exec.LookPath("victoria-metrics")
	bpftest.Need(t, "victoria-metrics", err)
	at := freePort(t)
	start(t, at, "victoria-metrics", "-storageDataPath="+t.TempDir(), "-httpListenAddr="+at, "-search.latencyOffset=0s", "-retentionPeriod=10y", "-search.maxUniqueTimeseries=2000000")
	read, write := io.Pipe()
	go func() {
		lines(write, f, to)
		write.Close()
	}()
	resp, err := http.Post("http://"+at+"/api/v1/import/prometheus", "text/plain", read)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp, err = http.Get("http://" + at + "/internal/force_flush"); err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return "http://" + at
}

// engines are the stores that a fleet is asked of.
func engines() map[string]func(*testing.T, *fleettest.Fleet, time.Time) string {
	return map[string]func(*testing.T, *fleettest.Fleet, time.Time) string{"prometheus": inPrometheus, "victoria-metrics": inVictoria}
}

// hour is the end of the hour that is looked at: a whole interval, some time ago.
func hour() time.Time { return time.Now().Add(-time.Hour).Truncate(every) }

func askOf(url string, to time.Time) *Ask {
	a := ask(url)
	a.Timeout, a.From, a.To = time.Minute, to.Add(-intervals*every), to
	return a
}

// Real engines give back what was planted: which hosts have which cause, since
// the middle of the hour, the fact behind it, and the slow disks.
func TestEnginesAreAsked(t *testing.T) {
	f := fleettest.New(7, fleettest.Options{Hosts: 200, Planted: 1, SlowDisks: 4, Intervals: intervals})
	want := map[string][]string{}
	for _, h := range f.Hosts {
		want[h.Cause] = append(want[h.Cause], h.Name)
	}
	for name, in := range engines() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			to := hour()
			a := askOf(in(t, f, to), to)
			for _, end := range []*time.Time{&a.From, &a.To} { // as people ask, not at whole steps
				*end = end.Add(7*time.Second + 123456*time.Microsecond)
			}
			got, err := Observe(t.Context(), a)
			if err != nil {
				t.Fatal(err)
			}
			for cause, names := range want {
				if !slices.Equal(got.With(cause), names) {
					t.Errorf("%s: %d hosts, want %d", cause, len(got.With(cause)), len(names))
				}
			}
			c := got.Courses[f.Cause]
			if c == nil || c.Now != len(want[f.Cause]) || c.Hosts[len(c.Hosts)/4] >= float64(c.Now) || c.Hosts[3*len(c.Hosts)/4] != float64(c.Now) || c.First.Before(to.Add(-intervals/2*every)) || c.First.After(to.Add(-intervals/2*every).Add(2*time.Minute)) {
				t.Errorf("its course is %+v", c)
			}
			common, err := got.Common(f.Cause)
			if err != nil || len(common.Factors) == 0 {
				t.Fatalf("%+v %v", common, err)
			}
			planted := f.Planted[0]
			if planted.Setting == "device.model" {
				planted.Setting = "disk.model"
			}
			if !slices.Contains(common.Factors[0].Facts, planted) {
				t.Errorf("%v is named, planted was %v", common.Factors[0].Facts, planted)
			}
			d, err := ObserveDisks(t.Context(), a)
			if err != nil {
				t.Fatal(err)
			}
			right, wrong := judged(f, d)
			if d.Disks != 300 || right < 3 || wrong > 0 {
				t.Errorf("%d disks: %d of 4 slow ones found, %d wrong", d.Disks, right, wrong)
			}
			a.Match = `zone="no such"`
			if _, err := Observe(t.Context(), a); err == nil || !strings.Contains(err.Error(), "it has no iocause_finding") {
				t.Errorf("hosts of no zone: %v", err)
			}
		})
	}
}

// judged counts the slow disks that were found, and those that are none.
func judged(f *fleettest.Fleet, d *Disks) (right, wrong int) {
	slower := map[Disk]bool{}
	for _, h := range f.Hosts {
		for _, x := range h.Disks {
			slower[Disk{h.Name, x.Device, x.Model}] = x.Slower > 1
		}
	}
	for _, s := range d.Slow {
		if slower[s.Disk] {
			right++
		} else {
			wrong++
		}
	}
	return right, wrong
}

// Two machines of one name, and hosts that nobody looked at, are told.
func TestWhatIsNotKnownIsTold(t *testing.T) {
	f := &Fleet{Courses: map[string]*Course{}}
	info := func(host, machine string) line {
		return line{Metric: map[string]string{"__name__": "iocause_host_info", "instance": host, "machine": machine, "kernel": "6.1"}}
	}
	finding := line{Metric: map[string]string{"instance": "a", "cause": "healthy"}}
	f.take("instance", []line{finding, {Metric: map[string]string{"instance": "c", "cause": "cold-cache"}}}, []line{info("a", "1"), info("a", "2"), info("b", "3")}, nil)
	notes := strings.Join(f.Tables()[0].Notes, "\n")
	for _, want := range []string{"1 hosts sent no finding", "1 names belong to two machines", "and count as one: a", "1 hosts sent findings but no iocause_host_info"} {
		if !strings.Contains(notes, want) {
			t.Errorf("%q is missing in %s", want, notes)
		}
	}
	if _, err := f.Common("no-such"); err == nil || !strings.Contains(err.Error(), "cold-cache") {
		t.Errorf("%v", err)
	}
	if c, err := f.Common("cold-cache"); err != nil || c.Why == "" {
		t.Errorf("one host is compared: %+v %v", c, err)
	}
}

// In real stores: hosts whose clocks are minutes off are counted, two machines of one
// name are told, and a label that has another value on each host is no factor and
// hides none.
func TestOddHosts(t *testing.T) {
	f := fleettest.New(5, fleettest.Options{Hosts: 120, Planted: 1, Intervals: intervals})
	for i := range f.Hosts {
		f.Hosts[i].Facts = append(f.Hosts[i].Facts, fleet.Fact{Setting: "request_id", Value: strings.Repeat(strconv.Itoa(i), 20)})
	}
	f.Hosts[0].Clock, f.Hosts[1].Clock = 5*time.Minute, -5*time.Minute
	f.Hosts[2].Name = f.Hosts[3].Name
	for name, in := range engines() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			to := hour()
			got, err := Observe(t.Context(), askOf(in(t, f, to), to))
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Hosts) != 119 || !slices.Equal(got.Twice, []string{f.Hosts[3].Name}) {
				t.Errorf("%d hosts, twice %q", len(got.Hosts), got.Twice)
			}
			for _, h := range f.Hosts[:2] {
				if !slices.Contains(got.With(h.Cause), h.Name) {
					t.Errorf("%s, whose clock is %v ahead, is not among those with %s", h.Name, h.Clock, h.Cause)
				}
			}
			common, err := got.Common(f.Cause)
			if err != nil || len(common.Factors) == 0 {
				t.Fatalf("%+v %v", common, err)
			}
			for _, x := range common.Factors {
				if slices.ContainsFunc(x.Facts, func(fact fleet.Fact) bool { return fact.Setting == "request_id" }) {
					t.Errorf("%v is named", x.Facts)
				}
			}
		})
	}
}

// TestGrowth measures how long the answers take for more and more hosts:
// IOCAUSE_FLEET=100,1000,10000 go test ./internal/tool/fleet -run TestGrowth -v
func TestGrowth(t *testing.T) {
	sizes := os.Getenv("IOCAUSE_FLEET")
	if sizes == "" {
		t.Skip("set IOCAUSE_FLEET=100,1000,10000")
	}
	for name, in := range engines() {
		for size := range strings.SplitSeq(sizes, ",") {
			n, err := strconv.Atoi(size)
			if err != nil {
				t.Fatal(err)
			}
			t.Run(name+"/"+size, func(t *testing.T) { grow(t, in, n) })
		}
	}
}

func grow(t *testing.T, in func(*testing.T, *fleettest.Fleet, time.Time) string, n int) {
	f := fleettest.New(11, fleettest.Options{Hosts: n, Planted: 1, SlowDisks: min(20, n/50), Intervals: intervals})
	to := hour()
	began := time.Now()
	a := askOf(in(t, f, to), to)
	loaded := time.Since(began)
	last, since := "", time.Now()
	var parts []string
	a.Progress = func(what string) {
		if last != "" {
			parts = append(parts, fmt.Sprintf("%s %v", last, time.Since(since).Round(time.Millisecond)))
		}
		last, since = what, time.Now()
	}
	began = time.Now()
	got, err := Observe(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	observed := time.Since(began)
	a.Progress("")
	began = time.Now()
	got.Tables()
	worked := time.Since(began)
	common, err := got.Common(f.Cause)
	if err != nil {
		t.Fatal(err)
	}
	began = time.Now()
	d, err := ObserveDisks(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	disks := time.Since(began)
	right, wrong := judged(f, d)
	t.Logf("%d hosts, %d disks: loaded in %v; asked in %v, table with what is common in %v; first factor %v of planted %v; disks in %v, %d of %d found, %d wrong; %s",
		n, d.Disks, loaded.Round(time.Millisecond), observed.Round(time.Millisecond), worked.Round(time.Millisecond), common.Factors[0].Facts, f.Planted, disks.Round(time.Millisecond), right, f.Slow, wrong, strings.Join(parts, ", "))
}
