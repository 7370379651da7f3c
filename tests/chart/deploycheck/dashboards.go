// Checks of Grafana's dashboards with the types that Grafana publishes for them.
package main

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/plugins"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
)

// Panels of a dashboard are decoded with the types of their plugins.
func init() { plugins.RegisterDefaultPlugins() }

// dashboardFaults decodes a dashboard strictly and returns a line for each unknown field, each value of a wrong type, each
// missing field, and each broken constraint.
func dashboardFaults(text []byte) []string {
	var d dashboard.Dashboard
	faults := linesOf(d.UnmarshalJSONStrict(text))
	if len(faults) == 0 && d.SchemaVersion == 0 {
		faults = append(faults, "schemaVersion: missing; Grafana would migrate the dashboard from its oldest form")
	}
	return append(faults, linesOf(d.Validate())...)
}

func linesOf(err error) []string {
	var all cog.BuildErrors
	if err == nil {
		return nil
	}
	if !errors.As(err, &all) {
		return []string{err.Error()}
	}
	var lines []string
	for _, one := range all {
		if !isDefault(one) {
			lines = append(lines, one.Error())
		}
	}
	return lines
}

// Grafana gives an option of a panel that is missing the default of its plugin, when it loads the dashboard. The types call
// these options required.
func isDefault(e *cog.BuildError) bool {
	ofPanel := strings.Contains(e.Path, ".options.") || strings.Contains(e.Path, ".fieldConfig.defaults.custom.")
	return ofPanel && e.Message == "required field is missing from input"
}

// Whether the text of a key of a ConfigMap is a dashboard.
func isDashboard(text []byte) bool {
	var top struct {
		Panels json.RawMessage `json:"panels"`
	}
	return json.Unmarshal(text, &top) == nil && top.Panels != nil
}
