package show

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"iocause/internal/present/html"
	"iocause/internal/require"
	tool "iocause/internal/tool/predict"
)

const hostileName = "</p><script>alert(1)</script>\x1b[31m\u202e"

// A prediction as a page has its sentences, the curve with its interval, the sizes,
// and what is hostile as text.
func TestPredictionPage(t *testing.T) {
	const gib = 1 << 30
	curved := func(p *tool.Prediction) *tool.Prediction {
		const points = `{"curve": {"points": [{"memory_bytes": 536870912, "hit_ratio": 0.25, "hit_ratio_low": 0.2, "hit_ratio_high": 0.3},
			{"memory_bytes": 1073741824, "hit_ratio": 0.5, "hit_ratio_low": 0.45, "hit_ratio_high": 0.55}, {"memory_bytes": 2147483648, "hit_ratio": 1, "hit_ratio_low": 0.9, "hit_ratio_high": 1, "open": true}]}}`
		require.NoError(t, json.Unmarshal([]byte(points), p))
		return p
	}
	p := curved(&tool.Prediction{Of: hostileName, Start: time.Unix(1700000000, 0), Seconds: 61, Advice: []string{"With 2 GiB it is faster. " + hostileName}, Notes: []string{hostileName},
		Place: &tool.Place{Memory: gib, Cache: gib, Room: gib}})
	for _, page := range []*html.Report{PredictionPage(p), PredictionPage(&tool.Prediction{Advice: []string{"Cannot tell."}, Of: hostileName}), WritesPage(&tool.Writes{Advice: []string{hostileName}, Cases: []tool.Case{{Name: "now"}}})} {
		var b bytes.Buffer
		require.NoError(t, html.WriteReport(&b, page))
		text := b.String()
		if strings.Contains(text, "<script") || strings.Contains(text, "\x1b") || strings.Contains(text, "\u202e") || !strings.Contains(text, "What it says") {
			t.Errorf("a name acts, or nothing is said:\n%s", text)
		}
		if page.Title == "The effect of more or less memory" && len(page.Sections) == 2 {
			for _, want := range []string{"With 2 GiB it is faster", "at least", "at most", "<td>now</td>", "<td>open</td>", `class="mark"`} {
				if !strings.Contains(text, want) {
					t.Errorf("the page lacks %q", want)
				}
			}
		}
	}
}
