// Package schema has the JSON Schemas of what commands print with --format json,
// one file for each command: COMMAND.json, of those below lab lab-COMMAND.json.
package schema

import (
	"embed"
	"io/fs"
	"strings"
)

// Files are the schemas.
//
//go:embed *.json
var Files embed.FS

const suffix = ".json"

// Of is the schema of a command's output, by its path without iocause.
func Of(command string) ([]byte, error) {
	return fs.ReadFile(Files, strings.ReplaceAll(command, " ", "-")+suffix)
}

// Commands are those that have one.
func Commands() []string {
	entries, err := Files.ReadDir(".")
	if err != nil {
		return nil // an embedded folder can be read
	}
	var all []string
	for _, entry := range entries {
		name := strings.TrimSuffix(entry.Name(), suffix)
		if below, ok := strings.CutPrefix(name, "lab-"); ok {
			name = "lab " + below
		} else if below, ok := strings.CutPrefix(name, "fleet-"); ok {
			name = "fleet " + below
		}
		all = append(all, name)
	}
	return all
}
