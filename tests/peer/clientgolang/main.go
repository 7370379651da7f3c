// clientgolang is an exporter on client_golang: a registry with one custom collector, which makes a
// constant metric of each row at each request, and the library's own handler, which compresses.
package main

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"podgpu.invalid/peer/rows"
)

// collector keeps a descriptor for each set of label names of each family.
type collector struct {
	page        *rows.Page
	descriptors []*prometheus.Desc // One per row, shared where the label names are the same.
	values      [][]string         // Of the labels, per row.
}

func newCollector(page *rows.Page) *collector {
	c := &collector{page: page}
	known := map[string]*prometheus.Desc{}
	for _, row := range page.Rows {
		family := page.Families[row.Family]
		key := family.Name
		var names, values []string
		for _, label := range row.Labels {
			key += "," + label.Name
			names = append(names, label.Name)
			values = append(values, label.Value)
		}
		if known[key] == nil {
			known[key] = prometheus.NewDesc(family.Name, family.Help, names, nil)
		}
		c.descriptors = append(c.descriptors, known[key])
		c.values = append(c.values, values)
	}
	return c
}

// Describe sends nothing: the driver determines the rows, and they are not known before.
func (c *collector) Describe(chan<- *prometheus.Desc) {}

func (c *collector) Collect(metrics chan<- prometheus.Metric) {
	for i, row := range c.page.Collect() {
		kind := prometheus.GaugeValue
		if c.page.Families[row.Family].Type == "counter" {
			kind = prometheus.CounterValue
		}
		metrics <- prometheus.MustNewConstMetric(c.descriptors[i], kind, row.Value, c.values[i]...)
	}
}

func main() {
	rows.Main(func(page *rows.Page) http.Handler {
		registry := prometheus.NewRegistry()
		registry.MustRegister(newCollector(page))
		return promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
	})
}
