// Checks of objects that carry files for other programs: ConfigMaps, and rules of Prometheus.
package main

import (
	"encoding/json"
	"strings"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	core "k8s.io/api/core/v1"
)

// The API server refuses a ConfigMap with more data.
const mostConfigMapBytes = 1 << 20

// A ConfigMap is small enough, and a key that ends in .json has JSON: Grafana leaves out a dashboard that it cannot read. A
// dashboard has only the fields that Grafana knows.
func (s *Set) checkConfigMaps() {
	All(s, func(o Object, c *core.ConfigMap) {
		total := 0
		for name, text := range c.Data {
			total += len(text)
			if strings.HasSuffix(name, ".json") {
				s.checkJSON(o, name, []byte(text))
			}
		}
		for _, bytes := range c.BinaryData {
			total += len(bytes)
		}
		if total > mostConfigMapBytes {
			s.reportOn(o, "has %d bytes, more than the %d that a cluster accepts; make two of it", total, mostConfigMapBytes)
		}
	})
}

func (s *Set) checkJSON(o Object, name string, text []byte) {
	if !json.Valid(text) {
		s.reportOn(o, "%s is not JSON", name)
	} else if isDashboard(text) {
		for _, fault := range dashboardFaults(text) {
			s.reportOn(o, "%s: %s", name, fault)
		}
	}
}

// The operator refuses a PrometheusRule with two groups of one name; a rule is an alert or a record.
func (s *Set) checkRules() {
	All(s, func(o Object, p *monitoring.PrometheusRule) {
		seen := map[string]bool{}
		for _, group := range p.Spec.Groups {
			if seen[group.Name] {
				s.reportOn(o, "has two groups named %s; rename one", group.Name)
			}
			seen[group.Name] = true
			for _, rule := range group.Rules {
				if (rule.Alert == "") == (rule.Record == "") {
					s.reportOn(o, "group %s: a rule has alert %q and record %q; give it one of the two", group.Name, rule.Alert, rule.Record)
				}
			}
		}
	})
}
