package predict

import (
	"os"

	"iocause/internal/host"
	"iocause/internal/predict"
	"iocause/internal/sample"
)

// places are where the pages of a trace lie in their files, by page of the trace, and files
// far from each other: what is cached around a page decides what is read ahead of it. With
// it the sizes of the files, of those that are open.
func (o *Observer) places(pages []uint32) (out, sizes []int64) {
	keys := make([]pageKey, len(o.hashes))
	for key, page := range o.pages {
		keys[page] = key
	}
	begin := map[sample.FileID]int64{}
	out = make([]int64, len(pages))
	for i, page := range pages {
		key := keys[page]
		if _, ok := begin[key.file]; !ok {
			begin[key.file] = int64(len(begin)) * predict.FileApart
			sizes = append(sizes, o.open[key.file].Size)
		}
		out[i] = begin[key.file] + int64(key.page)
	}
	return out, sizes
}

// readAhead is how many of its pages the kernel reads ahead at most, on the device that most
// comes from.
func (o *Observer) readAhead() int {
	const usual = 128 << 10 // VM_READAHEAD_PAGES, where the disk is not known
	dev := map[uint32]int{}
	of := (&whole{Observer: o}).fileOf()
	for i := range o.events {
		if e := &o.events[i]; e.Kind == predict.Added {
			dev[of[e.Page].Dev]++
		}
	}
	var most uint32
	for d, n := range dev {
		if n > dev[most] || n == dev[most] && d < most {
			most = d
		}
	}
	ahead := uint64(usual)
	if devices, err := o.host.Devices(); err == nil {
		if disk, ok := devices.Disk(host.DevNumber(most)); ok {
			if q, _ := o.host.Queue(disk); q.ReadAheadBytes != nil {
				ahead = *q.ReadAheadBytes
			}
		}
	}
	return int(ahead / uint64(os.Getpagesize()))
}
