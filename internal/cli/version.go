package cli

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is what this binary was built from, as far as it knows.
type version struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Modified bool   `json:"modified,omitempty"` // the tree was not the revision's
	Time     string `json:"time,omitempty"`     // of the revision
	Go       string `json:"go"`
}

func (v version) String() string {
	s := v.Version
	if v.Revision != "" {
		s += " revision " + v.Revision
		if v.Modified {
			s += " (modified)"
		}
	}
	return s + " " + v.Go
}

// buildVersion reads what the go command recorded in the binary.
func buildVersion() version {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return version{Version: "unknown", Go: "unknown"}
	}
	v := version{Version: info.Main.Version, Go: info.GoVersion}
	if v.Version == "" {
		v.Version = "(devel)"
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		case "vcs.time":
			v.Time = s.Value
		}
	}
	return v
}

func newVersionCommand(e *env) *cobra.Command {
	var format string
	c := &cobra.Command{
		Use:     "version",
		Short:   "Say which version this is",
		Long:    helpOf("version"),
		Example: examplesOf("version"),
		Args:    noArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := checkFormat(format); err != nil {
				return err
			}
			v := buildVersion()
			if format == "json" {
				return writeJSON(e.stdout, v)
			}
			if _, err := fmt.Fprintf(e.stdout, "iocause %s\n", v); err != nil {
				return fmt.Errorf("writing the version: %w", err)
			}
			return nil
		},
	}
	c.Flags().StringVar(&format, "format", "text", "text or json")
	return c
}
