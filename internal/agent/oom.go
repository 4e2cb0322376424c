package agent

import (
	"log/slog"

	"iocause/internal/host"
)

// oomScore makes the agent one of the last to be ended when memory runs out:
// it is what tells why. The unit in deploy/ sets the same.
const oomScore = -500

// protectFromOOM keeps the agent running when memory is short. What is not permitted is
// said. Its data can only be swapped; whoever has swap sets a limit for that, as
// the unit does.
func protectFromOOM(h *host.Host, log *slog.Logger) {
	if err := h.SpareSelf(oomScore); err != nil {
		log.Warn("the OOM killer may end the agent early", "why", err)
	}
	if err := h.LockProgram(); err != nil {
		log.Warn("the agent's code may be dropped from memory under memory pressure", "why", err)
	}
}
