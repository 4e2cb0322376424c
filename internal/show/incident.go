package show

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"iocause/internal/diagnose"
	"iocause/internal/incident/present"
	"iocause/internal/present/text"
	"iocause/internal/replay"
	"iocause/internal/store/incidents"
)

// Incident writes what is kept of one, with times in that zone.
func Incident(out io.Writer, x *incidents.Incident, loc *time.Location, style text.Style) error {
	for _, line := range present.Head(&x.Meta, loc) {
		for i, part := range text.Wrap(text.Escape(line), style.Width-2) {
			if i > 0 {
				part = "  " + part
			}
			fmt.Fprintln(out, part)
		}
	}
	if t := present.Reasons(&x.Meta); t != nil {
		fmt.Fprintln(out)
		if err := text.WriteTable(out, t, style); err != nil {
			return err
		}
	}
	if err := finding(out, x, style); err != nil {
		return err
	}
	for _, t := range present.Evidence(x, loc) {
		fmt.Fprintln(out)
		if err := text.WriteTable(out, t, style); err != nil {
			return err
		}
	}
	return nil
}

// finding writes the report that is kept.
func finding(out io.Writer, x *incidents.Incident, style text.Style) error {
	fmt.Fprintln(out)
	if x.Finding == nil {
		_, err := fmt.Fprintf(out, "%s.\n", replay.NotJudged(&x.Meta))
		return err
	}
	var r diagnose.Report
	if err := json.Unmarshal(x.Finding, &r); err != nil {
		_, err := fmt.Fprintf(out, "The finding cannot be read: %s.\n", text.Escape(err.Error()))
		return err
	}
	style.Whole = true
	return text.Write(out, &r, style)
}
