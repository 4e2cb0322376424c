// Package experiments holds the experiments that iocause ships.
package experiments

import "embed"

// Files are the experiments, NAME.yaml each.
//
//go:embed *.yaml
var Files embed.FS
