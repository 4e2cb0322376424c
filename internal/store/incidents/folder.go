package incidents

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"iocause/internal/store/whole"
)

// Suffix ends the names of the files.
const Suffix = ".iocause"

// ErrNone is an incident that is not in a folder.
var ErrNone = errors.New("there is no such incident")

// Entry is a file of a folder.
type Entry struct {
	Number int // by its name
	Path   string
	Bytes  int64
	Meta   Meta
	Err    error // why it cannot be read; Meta is empty then
}

// Save keeps an incident in a folder, which it makes, in place of the one with
// the same number; without a number it gets the next, which it keeps where only the
// last step failed. The file is there whole
// or not at all, and only its owner can read it. Several processes may save in
// a folder: a new number is nobody else's.
func Save(dir string, x *Incident) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("creating the directory of incidents: %w", err)
	}
	if x.Meta.Number == 0 {
		return saveNew(dir, x)
	}
	if err := SaveFile(Path(dir, x.Meta.Number), x); err != nil {
		return fmt.Errorf("keeping incident %d: %w", x.Meta.Number, err)
	}
	return nil
}

// saveNew keeps an incident under the first number after all others.
func saveNew(dir string, x *Incident) error {
	const patience = 100 // others that save at the same time
	var failed error
	for range patience {
		numbers, err := numbers(dir)
		if err != nil {
			return err
		}
		x.Meta.Number = 1
		if len(numbers) > 0 {
			x.Meta.Number = numbers[len(numbers)-1] + 1
		}
		var there bool
		there, failed = whole.Create(Path(dir, x.Meta.Number), 0o600, writes(x))
		if failed == nil {
			return nil
		}
		failed = fmt.Errorf("keeping incident %d: %w", x.Meta.Number, failed)
		if there {
			return failed // it keeps its number
		}
		x.Meta.Number = 0
		if !errors.Is(failed, fs.ErrExist) { // else another was faster
			break
		}
	}
	return failed
}

// SaveFile writes an incident to a file of its own in the same way.
func SaveFile(name string, x *Incident) error { return whole.Write(name, 0o600, writes(x)) }

func writes(x *Incident) func(io.Writer) error {
	return func(w io.Writer) error { return Write(w, x) }
}

// Path is the file of an incident.
func Path(dir string, number int) string {
	return filepath.Join(dir, fmt.Sprintf("%06d%s", number, Suffix))
}

// numbers are those of the files of a folder, smallest first.
func numbers(dir string) ([]int, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("reading the directory of incidents: %w", err)
	}
	var all []int
	for _, e := range entries {
		name, ok := strings.CutSuffix(e.Name(), Suffix)
		n, err := strconv.Atoi(name)
		if ok && err == nil && n > 0 && filepath.Base(Path(dir, n)) == e.Name() {
			all = append(all, n)
		}
	}
	slices.Sort(all)
	return all, nil
}

// Missing says that a folder has no incident of some number, and which it has.
func Missing(dir string) error {
	const shown = 5
	all, err := numbers(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist), err == nil && len(all) == 0:
		return fmt.Errorf("%w in %s: there is none at all yet; 'iocause agent' and 'iocause capture' make them", ErrNone, dir)
	case err != nil:
		return fmt.Errorf("%w: %w", ErrNone, err)
	}
	var have []string
	for i := len(all) - 1; i >= max(0, len(all)-shown); i-- {
		have = append(have, strconv.Itoa(all[i]))
	}
	if more := len(all) - len(have); more > 0 {
		have = append(have, fmt.Sprintf("and %d older", more))
	}
	return fmt.Errorf("%w in %s; it has %s: see 'iocause incidents'", ErrNone, dir, strings.Join(have, ", "))
}

// List are the incidents of a folder, newest first.
func List(dir string) ([]Entry, error) {
	all, err := numbers(dir)
	if err != nil {
		return nil, err
	}
	var list []Entry
	for _, n := range slices.Backward(all) {
		list = append(list, entryOf(dir, n))
	}
	return list, nil
}

func entryOf(dir string, number int) Entry {
	e := Entry{Number: number, Path: Path(dir, number)}
	f, err := os.Open(e.Path)
	if err != nil {
		e.Err = fmt.Errorf("reading incident %d: %w", number, err)
		return e
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil {
		e.Bytes = info.Size()
		e.Meta, err = readMeta(f)
	}
	if err != nil {
		e.Err = fmt.Errorf("reading incident %d: %w", number, err)
	}
	return e
}

// readMeta reads the first record only: evidence may be long.
func readMeta(r io.Reader) (Meta, error) {
	const fixed = len(magic) + 13 // and the head of a frame
	head := make([]byte, fixed)
	if _, err := io.ReadFull(r, head); err != nil {
		return Meta{}, fmt.Errorf("its first record cannot be read: %w", ErrFormat)
	}
	length := min(int64(binary.LittleEndian.Uint32(head[fixed-8:])), mostRecord)
	rest, err := io.ReadAll(io.LimitReader(r, length))
	if err != nil {
		return Meta{}, err
	}
	x, err := Read(strings.NewReader(string(head) + string(rest)))
	if err != nil {
		return Meta{}, errors.Unwrap(err)
	}
	return x.Meta, nil
}

// Load reads one incident of a folder.
func Load(dir string, number int) (*Incident, error) {
	f, err := os.Open(Path(dir, number))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("reading incident %d: %w", number, Missing(dir))
	}
	if err != nil {
		return nil, fmt.Errorf("reading incident %d: %w", number, err)
	}
	defer f.Close()
	return Read(f)
}

// Prune deletes the oldest incidents until the folder has at most so many
// bytes. One that is open stays. It returns the numbers of those that went.
func Prune(dir string, most int64) (gone []int, err error) {
	list, err := List(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var sum int64
	for _, e := range list {
		sum += e.Bytes
	}
	for _, e := range slices.Backward(list) {
		if sum <= most {
			break
		}
		if e.Meta.Open {
			continue
		}
		if err := os.Remove(e.Path); err != nil {
			return gone, fmt.Errorf("deleting incident %d: %w", e.Number, err)
		}
		sum -= e.Bytes
		gone = append(gone, e.Number)
	}
	return gone, nil
}
