// The pods that a set of objects makes, and what selects them.
package main

import (
	"bufio"
	"bytes"
	"regexp"

	apps "k8s.io/api/apps/v1"
	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func newLineReader(text []byte) *bufio.Reader { return bufio.NewReader(bytes.NewReader(text)) }

// Workload is an object that makes pods.
type Workload struct {
	Object
	Selector *metav1.LabelSelector // Null for pods and jobs.
	Labels   map[string]string
	Spec     core.PodSpec
}

func (s *Set) workloads() []Workload {
	var all []Workload
	for _, o := range s.Objects {
		switch body := o.Body.(type) {
		case *apps.DaemonSet:
			all = append(all, Workload{o, body.Spec.Selector, body.Spec.Template.Labels, body.Spec.Template.Spec})
		case *apps.Deployment:
			all = append(all, Workload{o, body.Spec.Selector, body.Spec.Template.Labels, body.Spec.Template.Spec})
		case *apps.StatefulSet:
			all = append(all, Workload{o, body.Spec.Selector, body.Spec.Template.Labels, body.Spec.Template.Spec})
		case *batch.Job:
			all = append(all, Workload{o, nil, body.Spec.Template.Labels, body.Spec.Template.Spec})
		case *batch.CronJob:
			template := body.Spec.JobTemplate.Spec.Template
			all = append(all, Workload{o, nil, template.Labels, template.Spec})
		case *core.Pod:
			all = append(all, Workload{o, nil, body.Labels, body.Spec})
		}
	}
	return all
}

// selected returns the workloads of a namespace whose pods the selector matches.
func (s *Set) selected(namespace string, selector labels.Selector) []Workload {
	var found []Workload
	for _, w := range s.workloads() {
		if w.Meta.GetNamespace() == namespace && selector.Matches(labels.Set(w.Labels)) {
			found = append(found, w)
		}
	}
	return found
}

func containersOf(spec core.PodSpec) []core.Container {
	return append(append([]core.Container{}, spec.InitContainers...), spec.Containers...)
}

// portOf returns the container and its port that a name or a number means.
func portOf(spec core.PodSpec, port intstr.IntOrString) (*core.Container, *core.ContainerPort) {
	for i := range spec.Containers {
		c := &spec.Containers[i]
		for j := range c.Ports {
			p := &c.Ports[j]
			if (port.Type == intstr.String && p.Name == port.StrVal) ||
				(port.Type == intstr.Int && p.ContainerPort == port.IntVal) {
				return c, p
			}
		}
	}
	return nil, nil
}

// servicePort returns the port of a Service with this name or number, or null.
func servicePort(service *core.Service, port intstr.IntOrString) *core.ServicePort {
	for i := range service.Spec.Ports {
		p := &service.Spec.Ports[i]
		if (port.Type == intstr.String && p.Name == port.StrVal) ||
			(port.Type == intstr.Int && p.Port == port.IntVal) {
			return p
		}
	}
	return nil
}

// targetOf is the port of the pods that a port of a Service leads to.
func targetOf(p core.ServicePort) intstr.IntOrString {
	if p.TargetPort.Type == intstr.Int && p.TargetPort.IntVal == 0 {
		return intstr.FromInt32(p.Port)
	}
	return p.TargetPort
}

var podgpuImage = regexp.MustCompile(`(^|/)podgpu(-dcgm)?(:[^/@]*)?(@[^/]*)?$`)

// isPodgpu says whether the container runs podgpu, by the name of its image.
func isPodgpu(c core.Container) bool { return podgpuImage.MatchString(c.Image) }

// roleOf is the command of podgpu that a container runs: "node", "cluster" or "doctor".
func roleOf(c core.Container) string {
	for _, word := range append(append([]string{}, c.Command...), c.Args...) {
		if word == "cluster" || word == "doctor" {
			return word
		}
	}
	return "node"
}

// Paths that answer 200 in each role. The rights test requests them from running programs.
var servedPaths = map[string]map[string]bool{
	"node": {"/": true, "/metrics": true, "/health": true, "/healthz": true, "/readyz": true,
		"/gpu/metrics": true, "/metric": true, "/explain": true, "/api/v1/node": true},
	"cluster": {"/": true, "/metrics": true, "/metrics/nodes": true, "/healthz": true, "/readyz": true,
		"/api/v1/fleet": true},
}
