package agent

import (
	"net/url"
	"regexp"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// labelName is what Prometheus takes as the name of a label.
const labelName = `^[a-zA-Z_][a-zA-Z0-9_]*$`

// remote reads where values are sent.
func (p *parser) remote(n *yaml.Node, to *Remote) {
	p.fields(n, map[string]func(*yaml.Node){
		"url": func(n *yaml.Node) {
			to.URL = p.url(n, "https://example.com/api/v1/write")
		},
		"every":      func(n *yaml.Node) { to.Every = p.duration(n, time.Second, time.Hour) },
		"token_file": func(n *yaml.Node) { to.TokenFile = p.path(n) },
		"ca_file":    func(n *yaml.Node) { to.CAFile = p.path(n) },
		"labels":     func(n *yaml.Node) { to.Labels = p.labels(n) },
		"version": func(n *yaml.Node) {
			to.Version = map[string]string{"auto": "", "1.0": "1.0", "2.0": "2.0"}[n.Value]
			if to.Version == "" && n.Value != "auto" {
				p.bad(n, "%q is not a version: write auto, 1.0 or 2.0", n.Value)
			}
		},
	})
	if to.URL == "" {
		p.bad(n, "url is missing")
	}
}

// url reads the address of a receiver.
func (p *parser) url(n *yaml.Node, like string) string {
	u, err := url.Parse(n.Value)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		p.bad(n, "%q is not a URL: write it like %s", n.Value, like)
	} else if u.User != nil {
		p.bad(n, "the URL holds a password: put a token into a file (token_file)")
	}
	return n.Value
}

// otlp reads where OpenTelemetry's protocol is spoken.
func (p *parser) otlp(n *yaml.Node, to *OTLP) {
	p.fields(n, map[string]func(*yaml.Node){
		"url": func(n *yaml.Node) {
			to.URL = p.url(n, "http://collector:4318")
			if strings.ContainsAny(to.URL, "?#") {
				p.bad(n, "the URL has a query, behind which /v1/metrics cannot be added: put a token into a file (token_file)")
			}
		},
		"metrics":    func(n *yaml.Node) { to.Metrics = p.truth(n) },
		"logs":       func(n *yaml.Node) { to.Logs = p.truth(n) },
		"every":      func(n *yaml.Node) { to.Every = p.duration(n, time.Second, time.Hour) },
		"token_file": func(n *yaml.Node) { to.TokenFile = p.path(n) },
		"ca_file":    func(n *yaml.Node) { to.CAFile = p.path(n) },
		"labels":     func(n *yaml.Node) { to.Labels = p.labels(n) },
	})
	if to.URL == "" {
		p.bad(n, "url is missing")
	}
}

// labels reads labels that are sent along.
func (p *parser) labels(n *yaml.Node) map[string]string {
	if n.Kind != yaml.MappingNode {
		p.bad(n, "this must be a mapping of names to values")
		return nil
	}
	all := map[string]string{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, value := n.Content[i], n.Content[i+1]
		if !regexp.MustCompile(labelName).MatchString(name.Value) || strings.HasPrefix(name.Value, "__") {
			p.bad(name, "%q cannot be the name of a label", name.Value)
		}
		if value.Kind != yaml.ScalarNode || value.Value == "" {
			p.bad(value, "the label %s has no value", name.Value)
		}
		all[name.Value] = value.Value
	}
	return all
}
