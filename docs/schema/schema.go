// Package schema has the JSON Schemas of what commands print with --format json,
// one file for each command: COMMAND.json, of those below lab lab-COMMAND.json.
package schema

import "embed"

// Files are the schemas.
//
//go:embed *.json
var Files embed.FS
