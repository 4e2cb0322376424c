package agent

import (
	"bytes"
	"log/slog"
	"net/url"
	"os"
	"time"

	"go.yaml.in/yaml/v3"

	"iocause/internal/notify"
)

// Incidents say what happens at an anomaly.
type Incidents struct {
	Off      bool          // nothing is learned and no incident kept
	Diagnose time.Duration // how long the costly probes run, 0 for not at all
	Command  []string      // is run with the incident on its standard input
	Webhook  struct{ URL, SecretFile string }
	Journal  bool // of systemd

	Alertmanager Alertmanager
}

// Alertmanager says which ones are told of incidents. Of a cluster of them all
// have to be.
type Alertmanager struct {
	URLs              []string          // none: nobody is told
	Labels            map[string]string // of all alerts
	TokenFile, CAFile string            // "" for no token, and the system's certificates
}

// incidents reads what happens at an anomaly.
func (p *parser) incidents(n *yaml.Node, to *Incidents) {
	p.fields(n, map[string]func(*yaml.Node){
		"watch": func(n *yaml.Node) { to.Off = !p.truth(n) },
		"diagnose": func(n *yaml.Node) {
			if to.Diagnose = 0; n.Value != "0" {
				to.Diagnose = p.duration(n, time.Second, 5*time.Minute)
			}
		},
		"command": func(n *yaml.Node) {
			if n.Kind != yaml.SequenceNode || len(n.Content) == 0 || n.Content[0].Value == "" {
				p.bad(n, "this must be a list: the program and its arguments")
			}
			to.Command = nil
			for _, x := range n.Content {
				to.Command = append(to.Command, x.Value)
			}
		},
		"webhook": func(n *yaml.Node) {
			p.fields(n, map[string]func(*yaml.Node){
				"url": func(n *yaml.Node) {
					to.Webhook.URL = n.Value
					if u, err := url.Parse(n.Value); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
						p.bad(n, "%q is not a URL, or holds a password: write it like https://example.com/hook", n.Value)
					}
				},
				"secret_file": func(n *yaml.Node) { to.Webhook.SecretFile = p.path(n) },
			})
		},
		"journal":      func(n *yaml.Node) { to.Journal = p.truth(n) },
		"alertmanager": func(n *yaml.Node) { p.alertmanager(n, &to.Alertmanager) },
	})
}

// alertmanager reads which ones are told.
func (p *parser) alertmanager(n *yaml.Node, to *Alertmanager) {
	p.fields(n, map[string]func(*yaml.Node){
		"urls": func(n *yaml.Node) {
			if n.Kind != yaml.SequenceNode {
				p.bad(n, "this must be a list of URLs: [\"http://alertmanager:9093\"]")
				return
			}
			to.URLs = nil
			for _, x := range n.Content {
				if u, err := url.Parse(x.Value); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" {
					p.bad(x, "%q is not a URL, or holds a password: write it like http://alertmanager:9093", x.Value)
				}
				to.URLs = append(to.URLs, x.Value)
			}
		},
		"labels":     func(n *yaml.Node) { to.Labels = p.labels(n) },
		"token_file": func(n *yaml.Node) { to.TokenFile = p.path(n) },
		"ca_file":    func(n *yaml.Node) { to.CAFile = p.path(n) },
	})
	if len(to.URLs) == 0 {
		p.bad(n, "urls is missing")
	}
	for _, own := range []string{"alertname", "cause", "culprit", "culprit_kind"} {
		if to.Labels[own] != "" {
			p.bad(n, "the label %s is reserved for the incident", own)
		}
	}
}

func (p *parser) truth(n *yaml.Node) bool {
	if n.Value != "true" && n.Value != "false" {
		p.bad(n, "%q is neither true nor false", n.Value)
	}
	return n.Value == "true"
}

// journalSocket is where systemd's journal listens.
const journalSocket = "/run/systemd/journal/socket"

// hooks are those that are set.
func (i *Incidents) hooks(log *slog.Logger) []notify.Hook {
	var all []notify.Hook
	if len(i.Command) > 0 {
		all = append(all, notify.Command{Args: i.Command})
	}
	if i.Webhook.URL != "" {
		var secret []byte
		var err error
		if i.Webhook.SecretFile != "" {
			secret, err = os.ReadFile(i.Webhook.SecretFile)
		}
		if err != nil {
			log.Error("the webhook's secret cannot be read: it gets no incidents", "why", err)
		} else {
			all = append(all, notify.Webhook{URL: i.Webhook.URL, Secret: bytes.TrimSpace(secret)})
		}
	}
	if i.Journal {
		all = append(all, notify.Journal{Socket: journalSocket})
	}
	return all
}
