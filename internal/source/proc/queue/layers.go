package queue

import (
	"fmt"

	"iocause/internal/host"
	"iocause/internal/sample"
)

// layers emits what each disk that has a size lies on, and which file system lies
// on it.
func (s *source) layers(devices *host.Devices, into sample.Sink) error {
	into.Put(sample.DeviceKind, sample.Entity{}, 0, "/sys/block") // none at all is a measurement too
	all := s.host.Layers(devices)
	if len(all) == 0 {
		return nil
	}
	mounts, err := s.host.Mounts()
	if err != nil {
		err = fmt.Errorf("reading which file systems lie on %d layers: %w", len(all), err)
	}
	for _, d := range devices.Disks() {
		l, ok := all[d.Name]
		if !ok || d.Bytes == 0 {
			continue
		}
		put := func(m sample.Metric, class, from string) {
			if class != "" {
				into.Put(m, sample.Entity{Device: d.Name, Class: class}, 1, from)
			}
		}
		from := "/sys/block/" + d.Name
		put(sample.DeviceKind, l.Kind, from)
		put(sample.DeviceLabel, l.Label, from+"/dm/name")
		for _, below := range l.On {
			disk := below
			if dev, ok := devices.Number(below); ok {
				disk, _ = devices.Disk(dev)
			}
			put(sample.DeviceOn, disk, from+"/slaves")
		}
		if m, ok := mounts.Find(d.Dev); ok {
			put(sample.DeviceMount, m.Point, "/proc/self/mountinfo")
		}
	}
	return err
}
