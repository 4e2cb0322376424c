//go:build !light

package series

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"iocause/internal/store/whole"
)

// What could not be read of the logs is kept in a file beside them, a line of
// JSON each: once they are mended nothing else tells.
const (
	lossesFile  = "lost"
	mostLosses  = 200     // are kept; the newest
	lossesBytes = 1 << 20 // of the file are believed
)

// losses reads them. A file that is not there has none; lines that are none are
// left out.
func losses(dir string) ([]loss, error) {
	path := filepath.Join(dir, lossesFile)
	if info, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err == nil && info.Size() > lossesBytes {
		return nil, fmt.Errorf("%s has %d bytes, more than %d, so iocause did not write it; move it away", path, info.Size(), lossesBytes)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading what was lost before: %w", err)
	}
	var out []loss
	for line := range bytes.Lines(b) {
		var l loss
		if json.Unmarshal(line, &l) == nil && l.Why != "" && len(out) < mostLosses {
			out = append(out, l)
		}
	}
	return out, nil
}

// keepLosses puts these in place of those that are kept.
func keepLosses(dir string, all []loss) error {
	if n := len(all); n > mostLosses {
		all = all[n-mostLosses:]
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	for i := range all {
		if err := e.Encode(&all[i]); err != nil {
			return fmt.Errorf("keeping what was lost: %w", err)
		}
	}
	if err := whole.Write(filepath.Join(dir, lossesFile), 0o600, whole.Bytes(b.Bytes())); err != nil {
		return fmt.Errorf("keeping what was lost: %w", err)
	}
	return nil
}
