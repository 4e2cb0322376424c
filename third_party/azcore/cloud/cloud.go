// Package cloud names Microsoft's clouds: see ../../README.md.
package cloud

// Configuration is one of them.
type Configuration struct{ Name string }

// The names that configurations may use.
var (
	AzureChina      = Configuration{"China"}
	AzureGovernment = Configuration{"Government"}
	AzurePublic     = Configuration{"Public"}
)
