// Command iocause finds out why I/O is slow on Linux and says what would fix it.
package main

import (
	"context"
	"os"

	"iocause/internal/cli"
)

func main() {
	os.Exit(cli.Run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
