// texttemplate is an exporter in the style of older ones: each request collects the rows, turns
// each into an object with a field per well-known label, a map of the others and its number as
// text, groups them by family, and renders the groups through text/template.  It does not compress.
package main

import (
	"bytes"
	"net/http"
	"strconv"
	"sync"
	"text/template"

	"podgpu.invalid/peer/rows"
)

// metric is one line of the page.
type metric struct {
	GPU, UUID, Bus, Device, Model, Profile, Instance, Hostname string
	Others                                                     map[string]string
	Value                                                      string
}

type group struct {
	Family  rows.Family
	Metrics []metric
}

const pageTemplate = `{{- range . }}# HELP {{ .Family.Name }} {{ .Family.Help }}
# TYPE {{ .Family.Name }} {{ .Family.Type }}
{{ $family := .Family.Name }}{{ range .Metrics -}}
{{ $family }}{gpu="{{ .GPU }}",UUID="{{ .UUID }}",pci_bus_id="{{ .Bus }}",device="{{ .Device }}",modelName="{{ .Model }}"
{{- if .Profile }},GPU_I_PROFILE="{{ .Profile }}",GPU_I_ID="{{ .Instance }}"{{ end }}
{{- if .Hostname }},Hostname="{{ .Hostname }}"{{ end }}
{{- range $name, $value := .Others }},{{ $name }}="{{ $value }}"{{ end }}} {{ .Value }}
{{ end }}{{ end }}`

// toMetric sorts the labels of a row into fields.
func toMetric(row rows.Row) metric {
	m := metric{Others: map[string]string{}, Value: strconv.FormatFloat(row.Value, 'f', -1, 64)}
	for _, label := range row.Labels {
		switch label.Name {
		case "gpu":
			m.GPU = label.Value
		case "UUID":
			m.UUID = label.Value
		case "pci_bus_id":
			m.Bus = label.Value
		case "device":
			m.Device = label.Value
		case "modelName":
			m.Model = label.Value
		case "GPU_I_PROFILE":
			m.Profile = label.Value
		case "GPU_I_ID":
			m.Instance = label.Value
		case "Hostname":
			m.Hostname = label.Value
		default:
			m.Others[label.Name] = label.Value
		}
	}
	return m
}

func main() {
	rows.Main(func(page *rows.Page) http.Handler {
		parsed := template.Must(template.New("page").Parse(pageTemplate))
		var one sync.Mutex // One collection at a time, as driver libraries require.
		return http.HandlerFunc(func(response http.ResponseWriter, _ *http.Request) {
			one.Lock()
			defer one.Unlock()
			groups := make([]group, len(page.Families))
			for _, row := range page.Collect() {
				at := &groups[row.Family]
				at.Family = page.Families[row.Family]
				at.Metrics = append(at.Metrics, toMetric(row))
			}
			var body bytes.Buffer
			if err := parsed.Execute(&body, groups); err != nil {
				http.Error(response, err.Error(), http.StatusInternalServerError)
				return
			}
			response.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
			response.Header().Set("Content-Length", strconv.Itoa(body.Len()))
			response.Write(body.Bytes())
		})
	})
}
