package cli

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"iocause/internal/lab/result"
	"iocause/internal/present/html"
	"iocause/internal/present/text"
	"iocause/internal/table"
)

func newLabCompareCommand(e *env) *cobra.Command {
	var format, output string
	c := &cobra.Command{
		Use:     "compare A B",
		Short:   "Set two results of 'lab run' side by side",
		Long:    helpOf("lab-compare"),
		Example: examplesOf("lab-compare"),
		Args:    cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			if format != "text" && format != "json" {
				return &usageError{fmt.Errorf("no format is called %q", format), "there are text and json"}
			}
			if err := checkPage(output); err != nil {
				return err
			}
			one, err := result.Read(args[0])
			if err != nil {
				return err
			}
			other, err := result.Read(args[1])
			if err != nil {
				return err
			}
			r, err := result.Compare(one, other)
			if err != nil {
				return err
			}
			if output != "" {
				page := r.Page(one, other, args[0], args[1])
				if err := writeWhole(output, func(w io.Writer) error { return html.WriteReport(w, page) }); err != nil {
					return fmt.Errorf("writing %s: %w", output, err)
				}
				fmt.Fprintf(e.stderr, "iocause: wrote %s\n", text.Escape(output))
				return nil
			}
			if format == "json" {
				return writeJSON(e.stdout, r)
			}
			return writeComparison(e.stdout, r)
		},
	}
	c.Flags().StringVar(&format, "format", "text", "text or json")
	c.Flags().StringVarP(&output, "output", "o", "", "write a page to this `file`, which ends in .html, instead")
	return c
}

func writeComparison(w io.Writer, r *result.Comparison) error {
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

// checkPage refuses a file that is no page, before time is spent, and a place
// that is none.
func checkPage(name string) error {
	switch {
	case name == "":
		return nil
	case !strings.HasSuffix(name, ".html"):
		return &usageError{fmt.Errorf("reading --output: %q is no page", name), "give a name that ends in .html"}
	case !isDirectory(filepath.Dir(name)):
		return &usageError{fmt.Errorf("reading --output: %q is no directory", filepath.Dir(name)), "make it, or choose another"}
	}
	return nil
}
