package host

import (
	"strconv"
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
	set, _ := StatusField(b, "CapEff")
	held, err := strconv.ParseUint(set, 16, 64)
	return err == nil && held&(1<<number) != 0
}
