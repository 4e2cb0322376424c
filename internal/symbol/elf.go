package symbol

import (
	"bytes"
	"cmp"
	"debug/elf"
	"debug/gosym"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/ulikunitz/xz"

	"iocause/internal/host"
)

// functions are those of a file: of .symtab; where that was stripped, of what
// is left. separate are those
// of the file that the rest was moved to.
func functions(e *elf.File, separate func() table) (table, error) {
	if err := limits(e); err != nil {
		return nil, err
	}
	t, err := symbols(e.Symbols)
	if len(t) > 0 {
		t.sort()
		return t, nil
	}
	t, err2 := symbols(e.DynamicSymbols)
	err = errors.Join(err, err2)
	more, err2 := goFunctions(e)
	t, err = append(t, more...), errors.Join(err, err2)
	more, err2 = miniDebug(e)
	t, err = append(t, more...), errors.Join(err, err2)
	t = append(t, separate()...)
	t.sort()
	if len(t) > 0 {
		return t, nil
	}
	return nil, err
}

// symbols are the functions of a symbol table that have a size: an address
// behind the last one, or between two, belongs to none. Of several names for
// one place the one with the fewest underscores in front comes first.
func symbols(read func() ([]elf.Symbol, error)) (table, error) {
	all, err := read()
	if errors.Is(err, elf.ErrNoSymbols) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading its symbols: %w", err)
	}
	var t table
	for _, s := range all {
		const ifunc = 10 // STT_GNU_IFUNC
		if kind := elf.ST_TYPE(s.Info); (kind == elf.STT_FUNC || kind == ifunc) && s.Section != elf.SHN_UNDEF && s.Size > 0 && s.Value+s.Size > s.Value {
			t = append(t, function{s.Value, s.Size, s.Name})
		}
	}
	slices.SortStableFunc(t, func(a, b function) int { return cmp.Compare(underscores(a.name), underscores(b.name)) })
	return t, nil
}

func underscores(name string) int { return len(name) - len(strings.TrimLeft(name, "_")) }

// goFunctions are those of a Go program, that keeps them for its own use even
// when it was stripped: the section .gopclntab.
func goFunctions(e *elf.File) (table, error) {
	lines, text := e.Section(".gopclntab"), e.Section(".text")
	if lines == nil || text == nil {
		lines = e.Section(".data.rel.ro.gopclntab") // of position-independent programs
	}
	if lines == nil || text == nil {
		return nil, nil
	}
	data, err := lines.Data()
	if err != nil {
		return nil, fmt.Errorf("reading its Go functions: %w", err)
	}
	all, err := gosym.NewTable(nil, gosym.NewLineTable(data, text.Addr))
	if err != nil {
		return nil, fmt.Errorf("reading its Go functions: %w", err)
	}
	var t table
	for _, f := range all.Funcs {
		if f.End > f.Entry {
			t = append(t, function{f.Entry, f.End - f.Entry, f.Name})
		}
	}
	return t, nil
}

// largest is how much of a file or section is unpacked at most.
const largest = 512 << 20

const (
	// mostTable is the size of the largest table that is read, in bytes: a browser's has 100 MB.
	mostTable = 128 << 20
	// mostHead is how much may be read of a file before its sections are known.
	mostHead = 1 << 20
)

// newELF reads the head of an ELF file. debug/elf believes what a file says of the size
// of a part of it, and reads that: of a sparse file zeros until there is no memory left.
func newELF(from io.ReaderAt) (*elf.File, error) {
	l := &limited{from: from, left: mostHead}
	e, err := elf.NewFile(l)
	l.left = largest + mostTable
	return e, err
}

// limited is a file of which so many bytes may be read.
type limited struct {
	from io.ReaderAt
	left int
}

func (l *limited) ReadAt(to []byte, at int64) (int, error) {
	if len(to) > l.left {
		return 0, errors.New("it is too large")
	}
	n, err := l.from.ReadAt(to, at)
	l.left -= n
	return n, err
}

// limits refuses a file whose tables are too large, or packed, and unpack to whatever size.
func limits(e *elf.File) error {
	for _, s := range e.Sections {
		most := uint64(mostTable)
		switch {
		case s.Type == elf.SHT_STRTAB:
			most = largest // long names of few functions
		case s.Type == elf.SHT_SYMTAB || s.Type == elf.SHT_DYNSYM || strings.HasSuffix(s.Name, ".gopclntab") || s.Name == ".gnu_debugdata":
		default:
			continue
		}
		if size := max(s.Size, s.FileSize); size > most {
			return fmt.Errorf("its section %q has %d bytes", s.Name, size)
		}
	}
	return nil
}

// miniDebug are the functions of .gnu_debugdata: an ELF file with nothing but
// symbols, packed with xz, as Fedora and its kin add to their programs.
func miniDebug(e *elf.File) (table, error) {
	s := e.Section(".gnu_debugdata")
	if s == nil {
		return nil, nil
	}
	packed, err := s.Data()
	if err != nil {
		return nil, fmt.Errorf("reading .gnu_debugdata: %w", err)
	}
	r, err := xz.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("unpacking .gnu_debugdata: %w", err)
	}
	plain, err := io.ReadAll(io.LimitReader(r, largest))
	if err != nil {
		return nil, fmt.Errorf("unpacking .gnu_debugdata: %w", err)
	}
	mini, err := newELF(bytes.NewReader(plain))
	if err != nil {
		return nil, fmt.Errorf("reading .gnu_debugdata: %w", err)
	}
	if err := limits(mini); err != nil {
		return nil, err
	}
	return symbols(mini.Symbols)
}

// debugFile are the functions that were moved to another file, nil for none:
// /usr/lib/debug/.build-id/xx/yyy.debug, or what .gnu_debuglink names. It
// is looked for where the process would find it, and then on the host.
func (r *Resolver) debugFile(pid int, name string, e *elf.File) table {
	id := buildID(e)
	var inside []string
	if len(id) > 2 {
		text := hex.EncodeToString(id)
		inside = append(inside, "/usr/lib/debug/.build-id/"+text[:2]+"/"+text[2:]+".debug")
	}
	link, sum := debugLink(e)
	if dir := path.Dir(name); link != "" && strings.HasPrefix(name, "/") {
		inside = append(inside, path.Join(dir, link), path.Join(dir, ".debug", link), path.Join("/usr/lib/debug", dir, link))
	}
	for _, p := range inside {
		for _, root := range []string{r.root(pid), r.host.Root + "/"} {
			if d := openDebug(root, p, id, sum, link != ""); d != nil {
				return d
			}
		}
	}
	return nil
}

// openDebug reads a debug file if it belongs to a build: by its identity, or
// without one by the checksum that the link carries.
func openDebug(root, path string, id []byte, sum uint32, hasSum bool) table {
	f, err := host.OpenInside(root, path, 0)
	if err != nil {
		return nil
	}
	defer f.Close()
	d, err := newELF(f)
	if err != nil {
		return nil
	}
	if its := buildID(d); len(id) > 0 && len(its) > 0 {
		if !bytes.Equal(its, id) {
			return nil
		}
	} else if !hasSum || checksum(f) != sum {
		return nil
	}
	if limits(d) != nil {
		return nil
	}
	t, err := symbols(d.Symbols)
	if err != nil {
		return nil // a broken one is as good as none
	}
	return t
}

func checksum(f *os.File) uint32 {
	sum := crc32.NewIEEE()
	if _, err := io.Copy(sum, io.NewSectionReader(f, 0, largest)); err != nil {
		return 0
	}
	return sum.Sum32()
}

// debugLink is the name in .gnu_debuglink, and the checksum behind it.
func debugLink(e *elf.File) (name string, sum uint32) {
	s := e.Section(".gnu_debuglink")
	if s == nil {
		return "", 0
	}
	data, err := s.Data()
	end := bytes.IndexByte(data, 0)
	if err != nil || end <= 0 || len(data) < 8 || bytes.ContainsRune(data[:end], '/') {
		return "", 0
	}
	return string(data[:end]), e.ByteOrder.Uint32(data[len(data)-4:])
}

// buildID is the identity that the linker gave a file: note NT_GNU_BUILD_ID.
func buildID(e *elf.File) []byte {
	s := e.Section(".note.gnu.build-id")
	if s == nil {
		return nil
	}
	data, err := s.Data()
	if err != nil || len(data) < 16 {
		return nil
	}
	names, size := e.ByteOrder.Uint32(data), e.ByteOrder.Uint32(data[4:])
	if e.ByteOrder.Uint32(data[8:]) != 3 || names != 4 || uint64(size) > uint64(len(data)-16) {
		return nil
	}
	return data[16 : 16+size]
}
