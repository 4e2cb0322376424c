package host

import (
	"bytes"
	"errors"
	"io/fs"
	"strings"
)

// Queue are settings of a disk's request queue: /sys/block/DISK/queue
// (Documentation/ABI/stable/sysfs-block). Nil and "" are not known: a device
// without a request queue lacks most of them.
type Queue struct {
	Scheduler      string  `json:"scheduler,omitempty"`
	ReadAheadBytes *uint64 `json:"read_ahead_bytes,omitempty"`
	Rotational     *bool   `json:"rotational,omitempty"`
	NrRequests     *uint64 `json:"nr_requests,omitempty"`
	WBTLatUsec     *uint64 `json:"wbt_lat_usec,omitempty"` // 0: writeback is not throttled
	MaxSectorsKB   *uint64 `json:"max_sectors_kb,omitempty"`
	WriteCache     string  `json:"write_cache,omitempty"` // "write back": flushes are sent; or "write through"
	FUA            *bool   `json:"fua,omitempty"`         // single writes can pass the write cache
	DiscardBytes   *uint64 `json:"discard_max_bytes,omitempty"`
	PhysicalBytes  *uint64 `json:"physical_block_size,omitempty"`
	Zoned          string  `json:"zoned,omitempty"` // "host-managed", "host-aware"; "" for disks of one piece
}

// Queue reads a disk's settings. The error tells of files that are there but
// could not be read or understood; what could be is in the Queue.
func (h *Host) Queue(disk string) (Queue, error) {
	var q Queue
	var errs []error
	number := func(name string) *uint64 {
		path := h.Sys("block", disk, "queue", name)
		n, err := ReadNumber(path)
		if err != nil {
			// Attributes that a driver lacks answer EINVAL; -1 is "none".
			if v, readErr := readString(path); readErr == nil && v != "-1" {
				errs = append(errs, err)
			} else if errors.Is(err, fs.ErrPermission) {
				errs = append(errs, err)
			}
			return nil
		}
		return &n
	}
	if n := number("read_ahead_kb"); n != nil && *n < 1<<54 {
		*n *= 1024
		q.ReadAheadBytes = n
	}
	yes := func(name string) *bool {
		n := number(name)
		if n == nil {
			return nil
		}
		is := *n != 0
		return &is
	}
	q.Rotational, q.FUA = yes("rotational"), yes("fua")
	q.NrRequests = number("nr_requests")
	q.WBTLatUsec = number("wbt_lat_usec")
	q.MaxSectorsKB = number("max_sectors_kb")
	if s, err := readString(h.Sys("block", disk, "queue", "scheduler")); err == nil {
		q.Scheduler = Chosen(s)
	}
	q.DiscardBytes, q.PhysicalBytes = number("discard_max_bytes"), number("physical_block_size")
	if s, err := readString(h.Sys("block", disk, "queue", "write_cache")); err == nil {
		q.WriteCache = clean(s)
	}
	if s, err := readString(h.Sys("block", disk, "queue", "zoned")); err == nil && s != "none" {
		q.Zoned = clean(s)
	}
	return q, errors.Join(errs...)
}

// Chosen is the word in brackets of "none [mq-deadline] kyber", or the only
// word when there are no brackets.
func Chosen(s string) string {
	if _, after, ok := strings.Cut(s, "["); ok {
		if in, _, ok := strings.Cut(after, "]"); ok {
			return in
		}
	}
	if s = strings.TrimSpace(s); !strings.ContainsAny(s, " \n") {
		return s
	}
	return ""
}

// keyValue splits "key : value" at the first colon.
func keyValue(line []byte) (key, value string, ok bool) {
	k, v, ok := bytes.Cut(line, []byte(":"))
	return string(bytes.TrimSpace(k)), string(bytes.TrimSpace(v)), ok
}
