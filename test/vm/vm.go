// Package vm holds the scripts that boot virtual machines, for the binary to
// carry.
package vm

import "embed"

// Scripts boot a guest (boot), as its first process (init) mount what iocause
// reads, and fetch kernels (kernel); boot and kernel read lib.sh. boot's and
// kernel's first comments are their manuals.
//
//go:embed boot init kernel lib.sh
var Scripts embed.FS
