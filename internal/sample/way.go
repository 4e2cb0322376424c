package sample

// Way is how something is counted that kernels offer several ways for: at a
// tracepoint of the kernel's, or at the functions that newer kernels have put
// that tracepoint into.
type Way struct {
	What  string   `json:"what"`            // "reads"
	By    string   `json:"by,omitempty"`    // "tracepoint" or "function"; "" where it is not counted
	Hooks []string `json:"hooks,omitempty"` // "fexit:filemap_get_pages"
	Grade string   `json:"grade,omitempty"` // how exact: "exact", "exact but for ..."
	// Proof is what was tried, and counted right, before the way was taken; ""
	// where a tracepoint's own name is proof enough.
	Proof    string   `json:"proof,omitempty"`
	Rejected []string `json:"rejected,omitempty"` // ways that were to be preferred, and why not
}
