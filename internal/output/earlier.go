package output

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// free refuses a name under which something is that ours does not find, by how it
// begins, to be an earlier one of what is to be written. What is no regular file is
// asked of nobody: opening it may wait for ever.
func free(name, what string, ours func(first []byte) bool) error {
	info, err := os.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("examining %s: %w; give another name", name, err)
	}
	not := fmt.Errorf("writing %q: it exists already and is not %s of iocause; give another name", name, what)
	if !info.Mode().IsRegular() {
		return not
	}
	if info.Size() == 0 {
		return nil
	}
	f, err := os.Open(name)
	if err != nil {
		return fmt.Errorf("examining %s: %w; give another name", name, err)
	}
	defer f.Close()
	first := make([]byte, 64<<10)
	n, _ := io.ReadFull(f, first) // an error leaves less than ours looks for
	if !ours(first[:n]) {
		return not
	}
	return nil
}
