package host

import (
	"errors"
	"io/fs"
)

// VMSysctlNames are the settings of /proc/sys/vm (Documentation/admin-guide/
// sysctl/vm.rst) that decide how memory is cached, written back and reclaimed.
// The units are in the names; ratios are per cent.
func VMSysctlNames() []string {
	return []string{
		"dirty_background_bytes", "dirty_background_ratio", "dirty_bytes",
		"dirty_expire_centisecs", "dirty_ratio", "dirty_writeback_centisecs",
		"dirtytime_expire_seconds", "min_free_kbytes", "overcommit_memory",
		"page-cluster", "swappiness", "vfs_cache_pressure",
		"watermark_scale_factor", "zone_reclaim_mode",
	}
}

// VMSysctls reads the settings of VMSysctlNames. Those that the kernel lacks
// are not in the map; the error tells of those that could not be read.
func (h *Host) VMSysctls() (map[string]uint64, error) {
	values := map[string]uint64{}
	var errs []error
	for _, name := range VMSysctlNames() {
		n, err := ReadNumber(h.Proc("sys", "vm", name))
		switch {
		case err == nil:
			values[name] = n
		case !errors.Is(err, fs.ErrNotExist):
			errs = append(errs, err)
		}
	}
	return values, errors.Join(errs...)
}
