package host

import (
	"strconv"
	"strings"
)

// CapSysPtrace is the number of the capability that opens the files of other
// users' processes: capabilities(7).
const CapSysPtrace = 19

// HasCapability tells whether our process has a capability in effect: CapEff
// of /proc/self/status. It is false when that cannot be read.
func (h *Host) HasCapability(number uint) bool {
	b, err := Read(h.Proc("self", "status"), nil)
	if err != nil {
		return false
	}
	for len(b) > 0 {
		var line []byte
		line, b = Line(b)
		set, ok := strings.CutPrefix(string(line), "CapEff:")
		if !ok {
			continue
		}
		held, err := strconv.ParseUint(strings.TrimSpace(set), 16, 64)
		return err == nil && held&(1<<number) != 0
	}
	return false
}
