package lines

import "strings"

// DiskOf is the disk that a partition is of, by its name.
func DiskOf(name string) string {
	disk := strings.TrimRight(name, "0123456789")
	switch {
	case strings.HasPrefix(name, "nvme") || strings.HasPrefix(name, "mmcblk"):
		if !strings.HasSuffix(disk, "p") {
			return name
		}
		return strings.TrimSuffix(disk, "p")
	case strings.HasPrefix(name, "sd") || strings.HasPrefix(name, "hd") || strings.HasPrefix(name, "vd") || strings.HasPrefix(name, "xvd"):
		return disk
	}
	return name
}
