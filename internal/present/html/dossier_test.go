package html

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"io"
	"math"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"iocause/internal/diagnose"
	"iocause/internal/picture"
	"iocause/internal/require"
	"iocause/internal/sample"
	"iocause/internal/table"
)

// nasty is a page in which every name is a hostile one.
func nasty() *picture.Page {
	who := diagnose.Culprit{PID: 7, Comm: hostile, Cgroup: "/" + hostile, File: "/" + hostile, Device: hostile}
	r := &diagnose.Report{Version: 1, Primary: "cache-busting", Title: "the data is larger than the memory, " + hostile, Victim: who,
		VictimWaits: &diagnose.Waiter{Who: who, Seconds: 6, Share: .6, In: []diagnose.WaitIn{{What: hostile, Seconds: 6}}},
		Waiters:     []diagnose.Waiter{{Who: who, Seconds: 6, Share: .6}},
		Others:      []diagnose.Other{{Waiter: diagnose.Waiter{Who: who}, Cause: "cpu-bound", Title: hostile}},
		Gaps:        []string{hostile}, Blind: hostile, Doubts: []string{hostile},
		CannotTell: []diagnose.Missing{{Cause: "host-difference", Missing: hostile}},
		Excluded:   []diagnose.Excluded{{Cause: "cold-cache", Why: hostile}},
		Host:       map[string]string{hostile: hostile},
		Window:     diagnose.Interval{Start: time.Unix(1700000000, 0).UTC(), Seconds: 10},
		When:       &diagnose.When{From: 1, To: 2, Source: hostile},
		Findings: []diagnose.Finding{{Cause: "cache-busting", Title: "the data is larger than the memory, " + hostile, Confidence: .97, Weight: .83, Culprit: who, Disprove: hostile,
			Evidence: []diagnose.Evidence{{Name: "hit ratio " + hostile, Value: .12, Unit: "ratio", Source: hostile}, {Name: "b", Value: 3, Unit: hostile}},
			Advice:   []diagnose.Advice{{Do: "raise the limit of " + hostile, Expect: hostile, Command: "echo 3 > /sys/x"}, {Do: "b"}}}, {Cause: "swap-thrash", Title: hostile}}}
	set := &picture.Set{Title: hostile, Start: r.Window.Start, Begin: picture.Figures{0, 1}, End: picture.Figures{1, 2}, Marks: []picture.Mark{{To: 1, Name: hostile}},
		Charts: []picture.Chart{{Key: "x", Group: hostile, Title: hostile, Unit: "count", Source: hostile, Lines: []picture.Line{{Name: hostile, Values: picture.Figures{1, math.NaN()}}}}},
		Heats:  []picture.Heat{{Device: hostile, Op: "read", Part: "device", Source: hostile, PerOctave: 1, Count: 3, Cells: [][]uint64{{3, 1, 2}, nil}}},
		Uses:   map[string]*picture.Use{hostile: {Processes: [][]float64{{0, 0, 3, 12}, nil}, Files: [][]float64{{0, 0, 4096}, nil}}}, Names: []string{hostile}}
	return &picture.Page{Program: hostile, Host: hostile, Kernel: hostile, Of: hostile, Asked: "--comm " + hostile, Report: r, Sets: []*picture.Set{set}, Notes: []string{hostile},
		Profiles: []*sample.Profile{some()}, Incident: &sample.Incident{Limits: []sample.Limit{{Kind: hostile, Of: hostile, What: hostile}}, Reasons: []sample.Reason{{Signal: hostile, Basis: hostile}}},
		Tables: []table.Table{{Key: "x", Title: hostile, Columns: []table.Column{{Key: "a", Head: hostile}, {Key: "b", Head: "B", Unit: "bytes"}}, Notes: []string{hostile},
			Rows: [][]table.Cell{{table.Str(hostile), table.Num(3)}, {table.Str("b"), table.Unread()}, {table.None(), table.None()}}}}}
}

func dossierOf(t *testing.T, p *picture.Page) string {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, WriteDossier(&b, p))
	return b.String()
}

// The policy allows the scripts and styles that are in the page, by their sums, and
// nothing else; there is nothing else.
func TestDossierPolicy(t *testing.T) {
	page := dossierOf(t, nasty())
	m := regexp.MustCompile(`<meta http-equiv="Content-Security-Policy" content="([^"]*)">`).FindStringSubmatch(page)
	if m == nil {
		t.Fatal("no policy")
	}
	head := page[:strings.Index(page, "<style>")]
	if strings.Index(page, m[0]) > len(head) || strings.Contains(head, "<script") {
		t.Error("the policy comes after what it is for")
	}
	for _, bad := range []string{"unsafe", "*", "http", "data:", "blob:"} {
		if strings.Contains(m[1], bad) {
			t.Errorf("the policy allows %s: %s", bad, m[1])
		}
	}
	if !strings.HasPrefix(m[1], "default-src 'none'; ") {
		t.Errorf("policy %s", m[1])
	}
	n := 0
	for _, x := range regexp.MustCompile(`(?s)<(script|style)([^>]*)>(.*?)</(?:script|style)>`).FindAllStringSubmatch(page, -1) {
		if strings.Contains(x[2], "type=") {
			continue // data
		}
		n++
		sum := sha256.Sum256([]byte(x[3]))
		if want := "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"; !strings.Contains(m[1], want) {
			t.Errorf("a %s of %d bytes has no sum in the policy", x[1], len(x[3]))
		}
	}
	if n != 3 {
		t.Errorf("%d scripts and styles, want 3", n)
	}
	if bad := regexp.MustCompile(`(?i)<[a-z][^<>]*\s(on[a-z]+|style|src)\s*=`).FindString(page[:strings.Index(page, `id="pictures"`)]); bad != "" {
		t.Errorf("an attribute that the policy refuses: %s", bad)
	}
}

// No name is more than text, whatever it is, and the page leads nowhere.
func TestDossierIsInert(t *testing.T) {
	page := dossierOf(t, nasty())
	for _, bad := range []string{"alert(1)</script>", "<script>alert", "\x1b", "\u2028", "\u202e", "\xff", "<!--"} {
		if strings.Contains(page, bad) {
			t.Errorf("holds %q", bad)
		}
	}
	ours := strings.Replace(page, "https://github.com/leeoniya/uPlot", "", 1) // in the library's own first line
	ours = strings.ReplaceAll(ours, `xmlns="http://www.w3.org/2000/svg"`, "")
	outside := regexp.MustCompile(`\ssrc\s*=|https?://|@import|\burl\(|fetch\(|XMLHttp|WebSocket|sendBeacon|innerHTML|document\.write|eval\(`)
	for _, m := range outside.FindAllString(ours, -1) {
		t.Errorf("reaches outside, or makes code of text: %q", m)
	}
	if strings.Contains(page, "iocause diagnose --comm") || strings.Contains(page, "iocause diagnose --cgroup") {
		t.Error("a command to copy holds a name that a shell would obey")
	}
	pictures := unpacked(t, page)
	for _, bad := range []string{"\x1b", "\u2028", "\u202e"} {
		if strings.Contains(pictures, bad) {
			t.Errorf("the drawings hold %q", bad)
		}
	}
}

// The first screen says who or what is behind it, also without a victim or a
// process, and blames nobody for what a disk or a lock does.
func TestDossierNamesTheCulprit(t *testing.T) {
	db := diagnose.Culprit{PID: 9, Comm: "db"}
	for _, c := range []struct {
		cause   diagnose.ID
		victim  diagnose.Culprit
		culprit diagnose.Culprit
		want    string
	}{
		{"cpu-bound", diagnose.Culprit{}, diagnose.Culprit{PID: 7, Comm: "java"}, "Culprit: <b><bdi>java</bdi> (pid 7)</b>."},
		{"raid-rebuilding", db, diagnose.Culprit{Device: "md0"}, "<b><bdi>db</bdi> (pid 9)</b> is held up. Where: <b><bdi>md0</bdi></b>."},
		{"remote-server-slow", db, diagnose.Culprit{File: "/home", Device: "nfs1:/export"}, "Where: <bdi>/home</bdi> (<bdi>nfs1:/export</bdi>)."},
		{"fuse-daemon-slow", db, diagnose.Culprit{File: "/mnt"}, "Where: <bdi>/mnt</bdi>."},
		{"cache-squeezed", db, diagnose.Culprit{Cgroup: "/x", Device: "sda"}, "Culprit: cgroup <bdi>/x</bdi>, <b><bdi>sda</bdi></b>."},
		{"lock-contention", db, diagnose.Culprit{PID: 9, Comm: "db", File: "/f"}, "<b><bdi>db</bdi> (pid 9)</b> is held up on <bdi>/f</bdi>."},
		{"device-unhealthy", db, diagnose.Culprit{PID: 9, Comm: "db", Device: "sdb"}, "is held up on <b><bdi>sdb</bdi></b>."},
		{"cpu-saturated", db, db, "<b><bdi>db</bdi> (pid 9)</b> waits for a processor."},
		{diagnose.Healthy, diagnose.Culprit{}, db, ""},
	} {
		d := dossier{Page: &picture.Page{Report: &diagnose.Report{Primary: c.cause, Victim: c.victim, Findings: []diagnose.Finding{{Cause: c.cause, Culprit: c.culprit}}}}}
		if got := d.who(); !strings.Contains(got, c.want) || c.want == "" && got != "" || strings.Contains(got, "<bdi></bdi>") {
			t.Errorf("%s: %q, want %q", c.cause, got, c.want)
		}
	}
	if got := named(&diagnose.Culprit{}); got != "the host" {
		t.Errorf("nobody in particular is %q", got)
	}
}

func unpacked(t *testing.T, page string) string {
	t.Helper()
	m := regexp.MustCompile(`<script type="application/octet-stream" id="pictures">([^<]*)</script>`).FindStringSubmatch(page)
	if m == nil {
		t.Fatal("no drawings")
	}
	z, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(m[1])))
	require.NoError(t, err)
	text, err := io.ReadAll(z)
	require.NoError(t, err)
	return string(text)
}

// The finding within the page is the one that JSON output has.
func TestDossierHoldsTheFinding(t *testing.T) {
	p := nasty()
	page := dossierOf(t, p)
	m := regexp.MustCompile(`(?s)<script type="application/json" id="report">(.*?)</script>`).FindStringSubmatch(page)
	if m == nil {
		t.Fatal("no finding")
	}
	if i := strings.IndexFunc(m[1], func(r rune) bool { return r < ' ' || r > '~' }); i >= 0 {
		t.Errorf("a character of the finding acts or hides: %q", m[1][i:i+4])
	}
	var got, want any
	require.NoError(t, json.Unmarshal([]byte(m[1]), &got))
	b, err := json.Marshal(p.Report)
	require.NoError(t, err)
	if err := json.Unmarshal(b, &want); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v: the finding differs:\n%v\n%v", err, got, want)
	}
}

// The first screen has the verdict, who, the figures, what to do and how to see
// that it helped, in this order and before all else.
func TestDossierBeginsWithTheVerdict(t *testing.T) {
	page := dossierOf(t, nasty())
	at := strings.Index(page, "<body>")
	for _, want := range []string{"PROBLEM", "The data is larger than the memory", "cache-busting", "97 %", "83 %", "is blocked", "60 %", "hit ratio", "12 %", "Raise the limit of", "echo 3 &gt; /sys/x", "Verify", "iocause diagnose", `<nav id="more"`} {
		i := strings.Index(page[at:], want)
		if i < 0 {
			t.Fatalf("after %d bytes there is no %q", at, want)
		}
		at += i
	}
	if strings.Index(page, DossierMark) > 1024 || !strings.HasPrefix(page, "<!DOCTYPE html>") {
		t.Error("the first kilobyte does not say what this is")
	}
}

// Every label and every link leads to something, and all that is opened is closed.
func TestDossierIsSound(t *testing.T) {
	for name, p := range map[string]*picture.Page{"full": nasty(), "empty": {}, "not judged": {Unjudged: "nobody looked"},
		"blind": {Report: &diagnose.Report{Primary: diagnose.Unknown, Blind: "BPF is refused"}}} {
		page := dossierOf(t, p)
		ids := map[string]bool{}
		for _, m := range regexp.MustCompile(` id="([\w-]+)"`).FindAllStringSubmatch(page, -1) {
			if ids[m[1]] {
				t.Errorf("%s: two are called %s", name, m[1])
			}
			ids[m[1]] = true
		}
		for _, m := range regexp.MustCompile(`(?:aria-labelledby="|href="#)([\w ]+)"`).FindAllStringSubmatch(page, -1) {
			for id := range strings.FieldsSeq(m[1]) {
				if !ids[id] {
					t.Errorf("%s: nothing is called %s", name, id)
				}
			}
		}
		body := page[strings.Index(page, "<body>"):strings.Index(page, `<script type="application/octet-stream"`)]
		body = regexp.MustCompile(` (hidden|sort)([ >])`).ReplaceAllString(strings.ReplaceAll(body, "<br>", "<br/>"), ` $1=""$2`)
		d := xml.NewDecoder(strings.NewReader(body + "</body>"))
		for {
			if _, err := d.Token(); err == io.EOF {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
	}
}
