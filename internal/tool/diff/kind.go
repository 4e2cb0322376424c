package diff

import (
	"errors"
	"fmt"
	"io"
	"os"

	"iocause/internal/replay"
	"iocause/internal/store/incidents"
	"iocause/internal/store/recording"
)

// Kind is what files that are compared are.
type Kind int

// Kinds.
const (
	OfRecordings Kind = iota // files of record, incidents and folders of an agent
	OfTexts                  // with the output of tools
)

// KindOf tells by how they begin what two files are; hasOutput tells texts with the
// output of a tool.
func KindOf(files [2]string, hasOutput func(beginning []byte) bool) (Kind, error) {
	var recorded, texts [2]bool
	for i, name := range files {
		if isFolder(name) {
			recorded[i] = true
			continue
		}
		beginning, err := beginningOf(name)
		if err != nil {
			return 0, err
		}
		recorded[i] = recording.Is(beginning) || incidents.Is(beginning)
		texts[i] = !recorded[i] && hasOutput(beginning)
	}
	switch {
	case recorded[0] && recorded[1]:
		return OfRecordings, nil
	case texts[0] && texts[1]:
		return OfTexts, nil
	case recorded[0] != recorded[1]:
		return 0, unlike(files, recorded, "a recording of iocause")
	case texts[0] != texts[1]:
		return 0, unlike(files, texts, "a text with the output of tools")
	}
	return 0, fmt.Errorf("comparing the files: %q is neither a recording nor output of a tool that 'iocause read' knows; to compare stacks, use 'iocause flame A B'", files[0])
}

func unlike(files [2]string, is [2]bool, kind string) error {
	other := files[0]
	if is[0] {
		other = files[1]
	}
	return fmt.Errorf("comparing the files: %q is not %s; give two of the same kind", other, kind)
}

// HoldsBoth tells whether a file or folder holds what it can be compared with: an
// incident keeps what was normal, and an agent all its history.
func HoldsBoth(name string) bool {
	beginning, err := beginningOf(name)
	return isFolder(name) || err == nil && incidents.Is(beginning)
}

func isFolder(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// beginningOf is enough of a file to tell what it is.
func beginningOf(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("comparing the files: %w", replay.NotOpened(name, err))
	}
	defer f.Close()
	b := make([]byte, 64<<10)
	n, err := io.ReadFull(f, b)
	if err != nil && n == 0 || err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, fmt.Errorf("comparing the files: reading the beginning of %s: %w", name, err)
	}
	return b[:n], nil
}
