package cli

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"iocause/internal/ask"
	"iocause/internal/console"
	"iocause/internal/lab/result"
	"iocause/internal/present/html"
	"iocause/internal/present/text"
	"iocause/internal/show"
	"iocause/internal/store/whole"
)

func newLabCompareCommand(e *env) *cobra.Command {
	var format, output string
	c := &cobra.Command{
		Use:   "compare A B",
		Short: "Set two results of 'lab run' side by side",
		Args:  arguments(2, "give two result directories of 'iocause lab run'", "A", "B"),
		RunE: func(_ *cobra.Command, args []string) error {
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
				if err := whole.Shown(output, func(w io.Writer) error { return html.WriteReport(w, page) }); err != nil {
					return fmt.Errorf("writing %s: %w", output, err)
				}
				fmt.Fprintf(e.stderr, "iocause: wrote %s\n", text.Escape(output))
				return nil
			}
			if format == "json" {
				return writeJSON(e.stdout, r)
			}
			return show.Comparison(e.stdout, r)
		},
	}
	c.Flags().Var(ask.Formats(&format, "json"), "format", "text or json")
	c.Flags().StringVarP(&output, "output", "o", "", "write a page to this `file`, which ends in .html, instead")
	return c
}

// checkPage refuses a file that is no page, before time is spent, and a place
// that is none.
func checkPage(name string) error {
	switch {
	case name == "":
		return nil
	case !strings.HasSuffix(name, ".html"):
		return &ask.Error{Err: fmt.Errorf("reading --output: %q is not a page", name), Next: "give a name that ends in .html"}
	case !console.IsDirectory(filepath.Dir(name)):
		return &ask.Error{Err: fmt.Errorf("reading --output: %q is not a directory", filepath.Dir(name)), Next: "create it, or choose another"}
	}
	return nil
}
