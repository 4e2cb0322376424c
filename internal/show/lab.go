package show

import (
	"fmt"
	"io"

	"iocause/internal/lab"
	"iocause/internal/lab/result"
	"iocause/internal/lab/space"
	"iocause/internal/present/text"
	"iocause/internal/table"
)

// Comparison writes two results side by side, and what follows from that.
func Comparison(w io.Writer, r *result.Comparison) error {
	style := text.Style{Width: 80}
	hosts, figures := r.Tables()
	for _, t := range []*table.Table{hosts, figures} {
		if err := text.WriteTable(w, t, style); err != nil {
			return err
		}
	}
	for _, f := range r.Findings {
		fmt.Fprintf(w, "\n%s: %s\n", f.Cause, f.Title)
		for _, a := range f.Advice {
			for i, line := range text.Wrap(text.Escape(a.Do), style.Width-2) {
				fmt.Fprintln(w, []string{"- ", "  "}[min(i, 1)]+line)
			}
		}
	}
	for _, m := range r.CannotTell {
		fmt.Fprintf(w, "\n%s: cannot tell\n", m.Cause)
		for _, line := range text.Wrap("missing: "+text.Escape(m.Missing), style.Width) {
			fmt.Fprintln(w, line)
		}
	}
	return nil
}

// Proof writes the effects as a table, then what follows from them.
func Proof(out io.Writer, p *space.Proof, style text.Style) error {
	if _, err := fmt.Fprintf(out, "situation %d: %s\n\n", p.Situation.Seed, text.Escape(p.Situation.String())); err != nil {
		return fmt.Errorf("writing the proof: %w", err)
	}
	if err := text.WriteTable(out, p.Table(), style); err != nil {
		return err
	}
	truth, said := p.Words()
	_, err := fmt.Fprintf(out, "\nTrue: %s\nSaid: %s\n", truth, said)
	if err != nil {
		return fmt.Errorf("writing the proof: %w", err)
	}
	return nil
}

// Eaten says what memory is held.
func Eaten(out io.Writer, e *lab.Eaten) error {
	bytes := func(n int64) string { return table.Value(float64(n), "bytes") }
	locked := ""
	if e.Locked {
		locked = ", locked"
	}
	_, err := fmt.Fprintf(out, "holding %s of %s memory (%s resident%s), taken in %s\navailable on the host: %s, before %s (MemAvailable)\nCtrl-C frees it\n",
		bytes(e.Held), e.Kind, bytes(e.Resident), locked, table.Duration(e.Seconds), bytes(e.Available), bytes(e.Before))
	if err != nil {
		return fmt.Errorf("writing the output: %w", err)
	}
	return nil
}
