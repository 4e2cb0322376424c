package agent

import "go.yaml.in/yaml/v3"

// fetch reads who may fetch recordings, and where.
func (p *parser) fetch(n *yaml.Node, to *Fetch) {
	p.fields(n, map[string]func(*yaml.Node){
		"listen":     func(n *yaml.Node) { to.Listen = p.address(n) },
		"cert_file":  func(n *yaml.Node) { to.CertFile = p.path(n) },
		"key_file":   func(n *yaml.Node) { to.KeyFile = p.path(n) },
		"token_file": func(n *yaml.Node) { to.TokenFile = p.path(n) },
	})
	if to.Listen == "" || to.CertFile == "" || to.KeyFile == "" || to.TokenFile == "" {
		p.bad(n, "listen, cert_file, key_file and token_file are all needed: recordings hold names of programs and files")
	}
}
