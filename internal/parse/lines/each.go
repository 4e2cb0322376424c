package lines

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// Each hands over the lines of a text, with their ends, to its end or to an error
// of reading. Of a line longer than longest bytes only the beginning is there, and
// cut is true. A line is valid until the next.
func Each(r io.Reader, longest int, f func(line []byte, cut bool)) error {
	in := bufio.NewReaderSize(r, longest)
	for n := 0; ; {
		line, err := in.ReadSlice('\n')
		cut := errors.Is(err, bufio.ErrBufferFull)
		if len(line) > 0 {
			n++
			f(line, cut)
		}
		for cut {
			_, err = in.ReadSlice('\n')
			cut = errors.Is(err, bufio.ErrBufferFull)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", n+1, err)
		}
	}
}
