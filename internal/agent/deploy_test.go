package agent

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"iocause/internal/store/series"
)

const deploy = "../../deploy"

func deployed(t *testing.T, name string) []byte {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(deploy, name))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// checkExpr tells whether an expression can be parsed and names only series
// that the agent records.
func checkExpr(t *testing.T, where, expr string) {
	t.Helper()
	if err := series.CheckExpr(strings.ReplaceAll(expr, "$__rate_interval", "1m")); err != nil {
		t.Errorf("%s: %s: %v", where, expr, err)
	}
	names := regexp.MustCompile(`iocause_\w+`).FindAllString(expr, -1)
	if len(names) == 0 {
		t.Errorf("%s: %s is about nothing", where, expr)
	}
	known := describe()
	for _, n := range names {
		if _, ok := known[n]; !ok {
			t.Errorf("%s: there is no %s", where, n)
		}
	}
}

func TestDeployedConfigurationIsTheDefault(t *testing.T) {
	c, err := parseConfig("agent.yaml", deployed(t, "agent.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Off) == 0 {
		c.Off = nil
	}
	if !reflect.DeepEqual(c, DefaultConfig()) {
		t.Errorf("%+v, want %+v", c, DefaultConfig())
	}
}

func TestDeployedAlerts(t *testing.T) {
	var file struct {
		Groups []struct {
			Rules []struct{ Alert, Expr string }
		}
	}
	if err := yaml.Unmarshal(deployed(t, "alerts.yaml"), &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Groups) != 1 || len(file.Groups[0].Rules) < 5 {
		t.Fatalf("%+v", file)
	}
	promtool(t, "", "check", "rules", filepath.Join(deploy, "alerts.yaml"))
	for _, r := range file.Groups[0].Rules {
		checkExpr(t, r.Alert, r.Expr)
	}
}

func TestDeployedDashboard(t *testing.T) {
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(deployed(t, "grafana.json"), &board); err != nil {
		t.Fatal(err)
	}
	if len(board.Panels) < 10 {
		t.Errorf("%d panels", len(board.Panels))
	}
	for _, p := range board.Panels {
		for _, x := range p.Targets {
			checkExpr(t, p.Title, x.Expr)
		}
	}
}
