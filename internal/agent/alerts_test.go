package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"iocause/internal/bpf/bpftest"
	"iocause/internal/sample"
	"iocause/internal/store/incidents"
)

// alertmanager is a real one, and whom it notifies.
type alertmanager struct {
	tool, dir, address string

	mu   sync.Mutex
	told []notification
	cmd  *exec.Cmd
}

// notification is what Alertmanager posts to a web hook.
type notification struct {
	Status      string
	GroupLabels map[string]string
	Alerts      []struct {
		Status, Fingerprint string
		Labels, Annotations map[string]string
	}
}

func newAlertmanager(t *testing.T) *alertmanager {
	t.Helper()
	tool, err := exec.LookPath("prometheus-alertmanager")
	bpftest.Need(t, "prometheus-alertmanager", err)
	m := &alertmanager{tool: tool, dir: t.TempDir()}
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var n notification
		if err := json.NewDecoder(r.Body).Decode(&n); err != nil {
			t.Error(err)
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		m.told = append(m.told, n)
	}))
	t.Cleanup(hook.Close)
	config := fmt.Sprintf(`
route: {receiver: hook, group_by: [alertname, cause, culprit], group_wait: 500ms, group_interval: 500ms, repeat_interval: 1h}
receivers: [{name: hook, webhook_configs: [{url: %q, send_resolved: true}]}]
`, hook.URL)
	if err := os.WriteFile(filepath.Join(m.dir, "config.yml"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	m.address = free.Addr().String()
	free.Close()
	t.Cleanup(func() { m.stop() })
	return m
}

func (m *alertmanager) start(t *testing.T) {
	t.Helper()
	m.cmd = exec.Command(m.tool, "--config.file="+filepath.Join(m.dir, "config.yml"), "--storage.path="+filepath.Join(m.dir, "data"),
		"--web.listen-address="+m.address, "--cluster.listen-address=")
	if err := m.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, "Alertmanager to be ready", func() bool {
		r, err := http.Get("http://" + m.address + "/-/ready")
		if err != nil {
			return false
		}
		r.Body.Close()
		return r.StatusCode == http.StatusOK
	})
}

func (m *alertmanager) stop() {
	if m.cmd != nil {
		_ = m.cmd.Process.Signal(os.Interrupt)
		_ = m.cmd.Wait()
		m.cmd = nil
	}
}

// waitUntil waits for something that takes a while.
func waitUntil(t *testing.T, what string, is func() bool) {
	t.Helper()
	for began := time.Now(); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Since(began) > 30*time.Second {
			t.Fatalf("waited for %s in vain", what)
		}
	}
}

// firing are instance and fingerprint of the alerts that it holds for going on.
func (m *alertmanager) firing(t *testing.T) (all []string) {
	t.Helper()
	r, err := http.Get("http://" + m.address + "/api/v2/alerts")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	var alerts []struct {
		Fingerprint string
		Labels      map[string]string
	}
	if err := json.NewDecoder(r.Body).Decode(&alerts); err != nil {
		t.Fatal(err)
	}
	for _, a := range alerts {
		all = append(all, a.Labels["instance"]+" "+a.Fingerprint)
	}
	slices.Sort(all)
	return all
}

// of are the notifications that have an alert of this instance and status.
func (m *alertmanager) of(instance, status string) (all []notification) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, n := range m.told {
		for _, a := range n.Alerts {
			if a.Labels["instance"] == instance && a.Status == status {
				all = append(all, n)
				break
			}
		}
	}
	return all
}

// alertsOf are those of a host's agent, and what ends that as kill -9 does.
func alertsOf(t *testing.T, m *alertmanager, dir, instance string) (a *alerts, kill func()) {
	t.Helper()
	c := DefaultConfig()
	c.Dir = dir
	c.Incidents.Alertmanager = Alertmanager{URLs: []string{"http://" + m.address}, Labels: map[string]string{"zone": "a"}}
	k := newKeeper(slog.New(slog.NewTextHandler(io.Discard, nil)))
	a = newAlerts(&c, instance, k.log, time.Now, k.put)
	a.again, a.soon = 200*time.Millisecond, 200*time.Millisecond
	return a, untilKilled(t, k.run, a.run)
}

// untilKilled runs both until they are killed, or the test ends.
func untilKilled(t *testing.T, one, other func(context.Context)) (kill func()) {
	ctx, stop := context.WithCancel(t.Context())
	var both sync.WaitGroup
	both.Go(func() { one(ctx) })
	both.Go(func() { other(ctx) })
	kill = sync.OnceFunc(func() {
		stop()
		both.Wait()
	})
	t.Cleanup(kill)
	return kill
}

// slowServer is an incident of a file server that is slow.
func slowServer(start time.Time, open bool) *incidents.Meta {
	return &incidents.Meta{Number: 3, Host: "h", Open: open, Cause: "remote-server-slow", Title: "a file server is slow to answer",
		Culprit: culprit("remote-server-slow", "", "", "nfs1:/export\x1b[2J"), What: sample.Incident{Start: start, End: start}}
}

// Two hosts that wait for one server are one group of a real Alertmanager, and
// one notification. It learns what is over, and what began while it was away,
// once; and an agent that is started anew goes on with the same alert.
func TestRealAlertmanager(t *testing.T) {
	t.Parallel()
	m := newAlertmanager(t)
	m.start(t)
	start := time.Now().Add(-time.Minute)
	dir := t.TempDir()
	db1, _ := alertsOf(t, m, t.TempDir(), "db1")
	db2, kill := alertsOf(t, m, dir, "db2")
	for _, a := range []*alerts{db1, db2} {
		a.tell(slowServer(start, true), false)
	}
	waitUntil(t, "both hosts", func() bool { return len(m.of("db1", "firing")) > 0 && len(m.of("db2", "firing")) > 0 })
	n := m.of("db2", "firing")[0]
	if len(n.GroupLabels) != 3 || n.GroupLabels["culprit"] != hashed("server", "nfs1:/export\x1b[2J") || n.GroupLabels["cause"] != "remote-server-slow" {
		t.Errorf("grouped by %v", n.GroupLabels)
	}
	if notes := n.Alerts[0].Annotations; notes["culprit"] != `nfs1:/export\x1b[2J` || notes["look"] != "iocause incident 3" || n.Alerts[0].Labels["zone"] != "a" {
		t.Errorf("%+v", n.Alerts[0])
	}
	before := m.firing(t)
	if len(before) != 2 {
		t.Fatalf("it holds %q", before)
	}

	kill() // the next agent of db2 goes on
	db2, _ = alertsOf(t, m, dir, "db2")
	db2.resume(slowServer(start, true), false)
	db1.tell(slowServer(start, false), false)
	waitUntil(t, "the end on db1", func() bool { return len(m.of("db1", "resolved")) > 0 })
	if after := m.firing(t); len(after) != 1 || after[0] != before[1] {
		t.Errorf("it held %q and holds %q", before, after)
	}

	m.stop()
	db2.tell(slowServer(start, false), false) // while nobody can be told
	db1.tell(&incidents.Meta{Open: true, What: sample.Incident{Start: start.Add(time.Second)}}, false)
	time.Sleep(300 * time.Millisecond)
	m.start(t)
	waitUntil(t, "what happened in the outage", func() bool { return len(m.firing(t)) == 1 && len(m.of("db2", "resolved")) > 0 })
	time.Sleep(time.Second) // it would be told twice by now
	count := 0
	for _, n := range m.of("db1", "firing") {
		if n.GroupLabels["cause"] == notJudged {
			count++
		}
	}
	if count != 1 {
		t.Errorf("what began in the outage was told %d times", count)
	}
}

// refusing is an Alertmanager that nothing of is heard.
func refusing(t *testing.T) (*alerts, *[]job) {
	t.Helper()
	c := DefaultConfig()
	c.Dir = t.TempDir()
	c.Incidents.Alertmanager.URLs = []string{"http://127.0.0.1:1"}
	var jobs []job
	a := newAlerts(&c, "h", slog.New(slog.NewTextHandler(io.Discard, nil)), time.Now, func(j job) { jobs = append(jobs, j) })
	return a, &jobs
}

// An incident whose cause is being looked for is told with it, or without after a
// while; what ends before anybody was told is not told at all.
func TestAlertWaitsForItsCause(t *testing.T) {
	a, _ := refusing(t)
	now := time.Now()
	a.now = func() time.Time { return now }
	m := slowServer(now, true)
	m.Cause, m.Culprit = "", nil
	a.tell(m, true)
	if _, told := a.due("x"); len(told) != 0 {
		t.Errorf("told without its cause: %+v", told)
	}
	if d, is := a.nextWait(); !is || d != judgeWait {
		t.Errorf("it is told in %v (%v), want %v", d, is, judgeWait)
	}
	now = now.Add(judgeWait)
	if d, is := a.nextWait(); is {
		t.Errorf("it waited, and is told again in %v", d)
	}
	if _, told := a.due("x"); len(told) != 1 || told[0].Labels["cause"] != notJudged {
		t.Errorf("%+v", told)
	}
	a.tell(slowServer(m.What.Start, true), false)
	all, told := a.due("x")
	if len(told) != 1 || told[0].Labels["cause"] != "remote-server-slow" || !told[0].End.IsZero() {
		t.Errorf("%+v", told)
	}
	a.taken("x", all)
	judgedAnew := slowServer(m.What.Start, true)
	judgedAnew.Cause = "direct-io"
	a.tell(judgedAnew, false)
	if _, told := a.due("x"); len(told) != 2 || told[0].End.IsZero() || told[1].Labels["cause"] != "direct-io" {
		t.Errorf("under another name: %+v", told)
	}
	b, _ := refusing(t)
	b.tell(m, true)
	m.Open = false
	b.tell(m, false)
	if _, told := b.due("x"); len(told) != 0 || len(b.all) != 0 {
		t.Errorf("%+v", told)
	}
}

// A server keeps its number in the hash, programs do not: worker-1 is worker-2.
func TestCulpritsAcrossHosts(t *testing.T) {
	a, b := culprit("remote-server-slow", "", "", "nfs1:/x"), culprit("remote-server-slow", "", "", "nfs2:/x")
	if a.Kind != "server" || a.ID == b.ID {
		t.Errorf("%+v %+v", a, b)
	}
	if c, d := culprit("direct-io", "worker-1", "", ""), culprit("direct-io", "worker-2", "", ""); c.ID != d.ID {
		t.Errorf("%+v %+v", c, d)
	}
}

func TestAlertmanagerConfig(t *testing.T) {
	c, err := parseConfig("x.yaml", []byte("incidents:\n  alertmanager: {urls: [\"http://a:9093\"], labels: {zone: a}, token_file: /t, ca_file: /c}\n"))
	if want := (Alertmanager{[]string{"http://a:9093"}, map[string]string{"zone": "a"}, "/t", "/c"}); err != nil || fmt.Sprint(c.Incidents.Alertmanager) != fmt.Sprint(want) {
		t.Errorf("%+v, %v", c.Incidents.Alertmanager, err)
	}
	for text, want := range map[string]string{
		"{urls: http://a}":                              "must be a list",
		"{labels: {a: b}}":                              "urls is missing",
		"{urls: [\"ftp://a\"]}":                         "is not a URL",
		"{urls: [\"http://u:p@a\"]}":                    "holds a password",
		"{urls: [\"http://a\"], labels: {cause: mine}}": "is reserved for the incident",
	} {
		if _, err := parseConfig("x.yaml", []byte("incidents:\n  alertmanager: "+text+"\n")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
