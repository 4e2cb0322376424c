// Package frames puts records into files so that what is left of a damaged
// file can be read: each has a mark, a length and a checksum, and behind
// damage the reading goes on at the next mark.
package frames

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// mark begins every frame: bytes that are no UTF-8, so that no text has them.
const mark = "\xf7\xf8ioC"

// head is the mark, the length of the payload (4 bytes, little-endian) and the
// CRC-32C of length and payload (4 bytes).
const head = len(mark) + 8

// Append adds a frame to a buffer.
func Append(to, payload []byte) []byte {
	to = append(to, mark...)
	from := len(to)
	to = binary.LittleEndian.AppendUint32(to, uint32(len(payload)))
	sum := crc32.Update(0, table(), to[from:])
	to = binary.LittleEndian.AppendUint32(to, crc32.Update(sum, table(), payload))
	return append(to, payload...)
}

func table() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// Loss is a stretch of a file that could not be read.
type Loss struct {
	Offset int64 `json:"offset"` // from the start of the file
	Bytes  int64 `json:"bytes"`
}

// String says it to people.
func (l Loss) String() string { return fmt.Sprintf("%d bytes from byte %d on", l.Bytes, l.Offset) }

// Read calls f for every whole frame, and returns what lies between them that
// is none. at is the offset of data in its file. Payloads are parts of data.
func Read(data []byte, at int64, f func(payload []byte)) []Loss {
	var lost []Loss
	// A file that is made to be bad could have a long frame begin at every
	// mark; then the rest of it is lost.
	budget := 8*len(data) + 1<<20
	for pos := 0; pos < len(data); {
		if payload, ok := frame(data[pos:], &budget); ok {
			f(payload)
			pos += head + len(payload)
			continue
		}
		next := len(data)
		for from := pos + 1; from < len(data); {
			i := bytes.Index(data[from:], []byte(mark))
			if i < 0 {
				break
			}
			from += i
			if _, ok := frame(data[from:], &budget); ok {
				next = from
				break
			}
			from++
		}
		lost = append(lost, Loss{at + int64(pos), int64(next - pos)})
		pos = next
	}
	return lost
}

// frame is the payload of the frame that data begins with. It takes the bytes
// that it summed off the budget.
func frame(data []byte, budget *int) ([]byte, bool) {
	if *budget <= 0 || len(data) < head || string(data[:len(mark)]) != mark {
		return nil, false
	}
	length := binary.LittleEndian.Uint32(data[len(mark):])
	want := binary.LittleEndian.Uint32(data[len(mark)+4:])
	if uint64(length) > uint64(len(data)-head) {
		return nil, false
	}
	*budget -= int(length)
	payload := data[head : head+int(length)]
	sum := crc32.Update(0, table(), data[len(mark):len(mark)+4])
	return payload, crc32.Update(sum, table(), payload) == want
}
