package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"iocause/docs/schema"
	"iocause/internal/ask"
)

func newSchemaCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use:   "schema [COMMAND]",
		Short: "Print the JSON Schema of what a command prints with --format json",
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return listSchemas(e.stdout)
			}
			text, err := schemaOf(strings.Join(args, " "))
			if err != nil {
				return err
			}
			if _, err := e.stdout.Write(text); err != nil {
				return fmt.Errorf("writing the schema: %w", err)
			}
			return nil
		},
	}
}

// schemaOf is the schema of a command's output, by its path without iocause.
func schemaOf(command string) ([]byte, error) {
	text, err := schema.Of(command)
	if err != nil {
		return nil, &ask.Error{Err: fmt.Errorf("looking for the schema of %q: no such command prints JSON", command), Next: "'iocause schema' lists those that do"}
	}
	return text, nil
}

func listSchemas(out io.Writer) error {
	var all []titled
	for _, command := range schema.Commands() {
		text, err := schemaOf(command)
		if err != nil {
			return err
		}
		var head struct {
			Title string `json:"title"`
		}
		if err := json.Unmarshal(text, &head); err != nil {
			return fmt.Errorf("reading the schema of %q: %w", command, err)
		}
		all = append(all, titled{command, head.Title})
	}
	return listTitled(out, "schemas", all)
}
