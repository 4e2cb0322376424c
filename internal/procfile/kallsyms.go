package procfile

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"

	"iocause/internal/host"
)

// ErrHidden is /proc/kallsyms without its addresses.
var ErrHidden = errors.New("the kernel hides its addresses: set kernel.kptr_restrict to 1 or 0, and run as root or with CAP_SYSLOG")

// Symbol is one line of /proc/kallsyms. Name and Module are valid until the
// next one is read.
type Symbol struct {
	Start  uint64
	Text   bool   // a function, weak or not
	Name   []byte // with what the compiler put behind it (".cold", ".part.0")
	Module []byte // empty in the kernel itself
}

// Symbols parses /proc/kallsyms (kernel/kallsyms.c), in the file's order,
// without symbols at address 0. It ends with an error where a line could not be
// understood, and with ErrHidden where no line has an address.
func Symbols(r io.Reader) iter.Seq2[Symbol, error] {
	return func(yield func(Symbol, error) bool) {
		lines := bufio.NewScanner(r)
		any := false
		for n := 1; lines.Scan(); n++ {
			hex, rest, _ := bytes.Cut(lines.Bytes(), []byte(" "))
			kind, rest, ok := bytes.Cut(rest, []byte(" "))
			start, err := strconv.ParseUint(string(hex), 16, 64)
			if err != nil || !ok || len(kind) != 1 {
				yield(Symbol{}, &host.LineError{Line: n, What: fmt.Sprintf("%.40q is not a symbol", lines.Bytes())})
				return
			}
			if start == 0 {
				continue
			}
			any = true
			name, module, _ := bytes.Cut(rest, []byte("\t"))
			k := kind[0] | 0x20
			if !yield(Symbol{start, k == 't' || k == 'w', name, bytes.Trim(module, "[]")}, nil) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(Symbol{}, err)
		} else if !any {
			yield(Symbol{}, ErrHidden)
		}
	}
}
