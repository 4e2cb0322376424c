package page

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"
)

const (
	mostReport    = 16 << 20 // bytes
	reportLimit   = 80 * time.Second
	sandboxPolicy = "sandbox allow-scripts allow-downloads; frame-ancestors 'self'"
)

// errLarge is a report that does not fit into the agent's memory.
var errLarge = errors.New("the report is larger than 16 MiB: write it with 'iocause report'")

// bounded is what a report may come to.
type bounded struct{ bytes.Buffer }

// Write implements io.Writer.
func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > mostReport {
		return 0, errLarge
	}
	return b.Buffer.Write(p)
}

// report answers with a report. The page has a policy of its own; here it loses the
// right to be taken for the agent's page, whatever is in it.
func (p *page) report(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Security-Policy", sandboxPolicy)
	var ask Ask
	var err error
	if number := r.FormValue("incident"); number != "" {
		if ask.Incident, err = strconv.Atoi(number); err != nil || ask.Incident < 1 {
			http.Error(w, "incident: give its number, 1 or more", http.StatusBadRequest)
			return
		}
	} else if ask.From, ask.To, err = p.asked(r); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), reportLimit)
	defer cancel()
	var out bounded
	if err := p.Report(ctx, &out, ask); err != nil {
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			err = errors.New("the report was not ready after " + reportLimit.String() + ": write it with 'iocause report'")
		}
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_, _ = out.WriteTo(w) // the browser has gone: there is nobody to tell
}
