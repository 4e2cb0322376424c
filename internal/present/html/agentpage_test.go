package html

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"iocause/internal/require"
	"iocause/internal/sample"
	"iocause/internal/table"
)

// nastyAgent is the agent's page with hostile names all over.
func nastyAgent() *AgentPage {
	p := nasty()
	at := time.Unix(1700000000, 0).UTC()
	return &AgentPage{Program: hostile, Host: hostile, Kernel: hostile, Zone: hostile, Older: 3,
		Now: Now{Report: p.Report, Looked: hostile, GoesOn: 7, Resources: p.Tables, Notes: []string{hostile}},
		Incidents: []Kept{{Number: 7, Open: true, Cause: hostile, Title: hostile, Culprit: hostile, Notes: []string{hostile},
			What: sample.Incident{Start: at, End: at.Add(90 * time.Second), Limits: []sample.Limit{{Kind: hostile, Of: hostile, What: hostile}}, Reasons: []sample.Reason{{Signal: hostile, Basis: hostile}}}},
			{Number: 6, Broken: hostile}}}
}

// No name is more than text, in the page and in the parts that are asked for anew.
func TestAgentPageIsInert(t *testing.T) {
	var b bytes.Buffer
	p := nastyAgent()
	require.NoError(t, WriteAgentPage(&b, p))
	set, err := json.Marshal(Inert(nasty().Sets[0]))
	require.NoError(t, err)
	for name, text := range map[string]string{"page": b.String(), "now": NowPart(&p.Now), "incidents": IncidentsPart(p.Incidents, 3),
		"tables": TablesPart(nasty().Tables, []string{hostile}), "set": string(set)} {
		for _, bad := range []string{"<script>alert", "alert(1)</script>", "\x1b", "\u2028", "\u202e", "\xff", "<!--"} {
			if strings.Contains(text, bad) {
				t.Errorf("%s holds %q", name, bad)
			}
		}
		if bad := regexp.MustCompile(`(?i)<[a-z][^<>]*\s(on[a-z]+|style)\s*=`).FindString(text); bad != "" {
			t.Errorf("%s has an attribute that the policy refuses: %s", name, bad)
		}
		if !strings.Contains(text, "alert(1)") {
			t.Errorf("%s does not show the name", name)
		}
	}
	if scripts := regexp.MustCompile(`<script[^>]*>`).FindAllString(b.String(), -1); len(scripts) != 2 || strings.Contains(AgentPolicy, "unsafe") {
		t.Errorf("scripts %q, policy %s", scripts, AgentPolicy)
	}
	if bad := regexp.MustCompile(`innerHTML\s*=|insertAdjacentHTML|document\.write|eval\(|https?://`).FindString(AgentScript()); bad != "" {
		t.Errorf("the script makes code of text, or reaches outside: %s", bad)
	}
}

// Without scripts the page says what is now and which incidents there were.
func TestAgentPageSays(t *testing.T) {
	var b bytes.Buffer
	p := nastyAgent()
	require.NoError(t, WriteAgentPage(&b, p))
	for _, want := range []string{">PROBLEM<", "accounts for <b>83 %</b>", `Incident <a href="#incident-7">7</a> is going on.`, `<a class="report" href="/page/report?incident=7"`,
		`data-from="1700000000" data-to="1700000090"`, "90 s, open", "6 cannot be read: ", "3 older incidents", "<noscript>"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	if strings.Contains(b.String(), `href="#evidence"`) || strings.Contains(b.String(), `href="#advice"`) {
		t.Error("links lead nowhere")
	}
	if text := NowPart(&Now{Unjudged: "nobody has looked"}); !strings.Contains(text, "NOT JUDGED") || !strings.Contains(text, "nobody has looked") {
		t.Error(text)
	}
	if text := IncidentsPart(nil, 0); !strings.Contains(text, "None is kept.") {
		t.Error(text)
	}
	if text := TablesPart([]table.Table{}, nil); text != "" {
		t.Error(text)
	}
}
