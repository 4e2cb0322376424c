package recording

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"io"
	"sync"
	"time"

	"iocause/internal/sample"
	"iocause/internal/store/frames"
)

// Memory keeps the newest windows in memory, packed as in a file: a tenth of
// what they take otherwise. Windows have numbers from 0 on, that stay theirs.
// Safe for concurrent use.
type Memory struct {
	mu     sync.Mutex
	most   int // bytes
	writer *Writer
	last   []byte // what was written last
	packed [][]byte
	first  int // number of packed[0]
	bytes  int
	unpack *frames.Decoder
}

// NewMemory keeps so many bytes of windows, and the newest one in any case.
func NewMemory(most int) (*Memory, error) {
	unpack, err := frames.NewDecoder()
	if err != nil {
		return nil, fmt.Errorf("preparing to keep windows: %w", err)
	}
	m := &Memory{most: most, unpack: unpack}
	m.writer, err = NewWriter(m, Header{Began: time.Unix(0, 0)})
	return m, err
}

// Write takes a record from the writer, which reuses its bytes.
func (m *Memory) Write(record []byte) (int, error) {
	m.last = bytes.Clone(record)
	return len(record), nil
}

// Add keeps the next window; the oldest ones go where there is no room.
func (m *Memory) Add(r *Record) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.writer.Window(r); err != nil {
		return err
	}
	m.packed = append(m.packed, m.last)
	m.bytes += len(m.last)
	for len(m.packed) > 1 && m.bytes > m.most {
		m.bytes -= len(m.packed[0])
		m.packed[0] = nil
		m.packed = m.packed[1:]
		m.first++
	}
	return nil
}

// Kept are the number of the oldest window that is there and the one behind
// the newest.
func (m *Memory) Kept() (first, end int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.first, m.first + len(m.packed)
}

// At is a window by its number.
func (m *Memory) At(n int) (*sample.Window, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n < m.first || n >= m.first+len(m.packed) {
		return nil, fmt.Errorf("window %d is not kept any more: the oldest is %d", n, m.first)
	}
	b := m.packed[n-m.first]
	one := &Reader{from: bytes.NewReader(b), size: int64(len(b)), sum: crc32.MakeTable(crc32.Castagnoli), zstd: m.unpack, broken: -1}
	r, err := one.Next()
	if err == io.EOF {
		return nil, fmt.Errorf("window %d cannot be unpacked: what was packed of it ends too early", n)
	}
	if err != nil {
		return nil, err
	}
	return r.Window, nil
}
