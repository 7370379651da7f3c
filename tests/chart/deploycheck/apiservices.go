// Checks of APIServices: the Service and the port that they name, who writes the authority of the certificate, and the metrics
// that podgpu serves there.
package main

import (
	"fmt"
	"slices"
	"strings"

	certmanager "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

const injectAnnotation = "cert-manager.io/inject-ca-from"

// The metrics of podgpu, by the group that serves them.
var servedMetrics = map[string][]string{
	"external.metrics.k8s.io": {"avg_gpu_utilization", "gpu_free", "gpu_idle_pods", "gpu_memory_used_bytes", "gpu_power_watts"},
	"custom.metrics.k8s.io":   {"gpu_energy_rate_watts", "gpu_memory_used_bytes", "gpu_power_watts", "gpu_sm_active", "gpu_utilization"},
}

var metricsListen = setting{[]string{"metrics-api-listen"}, "PODGPU_METRICS_API_LISTEN", ""}
var metricsService = setting{[]string{"metrics-api-service"}, "PODGPU_METRICS_API_SERVICE", ""}
var metricsCertificate = setting{[]string{"metrics-api-cert-file"}, "PODGPU_METRICS_API_CERT_FILE", ""}

func (s *Set) checkApiServices() {
	All(s, func(o Object, api *apiregistration.APIService) {
		if want := api.Spec.Version + "." + api.Spec.Group; want != api.Name {
			s.reportOn(o, "must be called %s; rename it", want)
		}
		if api.Spec.InsecureSkipTLSVerify {
			s.reportOn(o, "lets every server answer for the group; remove insecureSkipTLSVerify")
		}
		if api.Spec.Service == nil {
			s.reportOn(o, "names no Service; add spec.service")
			return
		}
		for _, server := range s.serversOf(o, api.Spec.Service) {
			s.checkAuthority(o, api, server)
		}
	})
}

// A server is a container behind the Service of an APIService.
type server struct {
	Workload
	Container core.Container
	Launch    Launch
}

// serversOf are the containers of podgpu that get the requests of an APIService.
func (s *Set) serversOf(o Object, ref *apiregistration.ServiceReference) []server {
	at := s.Find("Service", ref.Namespace, ref.Name)
	if at == nil {
		s.reportOn(o, "there is no Service %s/%s; add it", ref.Namespace, ref.Name)
		return nil
	}
	port := int32(443)
	if ref.Port != nil {
		port = *ref.Port
	}
	service := at.Body.(*core.Service)
	of := servicePort(service, intstr.FromInt32(port))
	if of == nil {
		s.reportOn(o, "port %d is no port of %s; use the number of one", port, at.Name())
		return nil
	}
	var servers []server
	for _, w := range s.selected(ref.Namespace, labels.SelectorFromSet(service.Spec.Selector)) {
		c, declared := portOf(w.Spec, targetOf(*of))
		if c == nil || !isPodgpu(*c) {
			continue // checkServices reports a target that no container has.
		}
		launch := Launch{Role: roleOf(*c), Arguments: c.Args}
		for _, e := range c.Env {
			launch.Variables = append(launch.Variables, e.Name+"="+e.Value)
		}
		if address := launch.valueOf(metricsListen); !strings.HasSuffix(address, fmt.Sprintf(":%d", declared.ContainerPort)) {
			s.reportOn(o, "leads to port %d of %s, but podgpu serves metrics at %q; correct --metrics-api-listen or the port",
				declared.ContainerPort, w.Name(), address)
		}
		servers = append(servers, server{w, *c, launch})
	}
	return servers
}

// checkAuthority checks that something tells the API server who signed the certificate of the server.
func (s *Set) checkAuthority(o Object, api *apiregistration.APIService, at server) {
	service := api.Spec.Service
	name := service.Name + "." + service.Namespace
	from := api.Annotations[injectAnnotation]
	own := at.Launch.valueOf(metricsCertificate) == ""
	switch {
	case own && (from != "" || len(api.Spec.CABundle) > 0):
		s.reportOn(o, "has the authority of another certificate, but %s makes its own; give it --metrics-api-cert-file, or remove caBundle and the annotation",
			at.Name())
	case own && at.Launch.valueOf(metricsService) != name:
		s.reportOn(o, "gets no authority: %s writes it only with --metrics-api-service=%s; add the flag", at.Name(), name)
	case own:
		s.checkMayPatch(o, at)
	case from != "":
		s.checkInjected(o, from, name, at)
	case len(api.Spec.CABundle) == 0:
		s.reportOn(o, "has no caBundle for the certificate of %s; add it, or the annotation %s", at.Name(), injectAnnotation)
	}
}

func (s *Set) checkMayPatch(o Object, at server) {
	for _, verb := range []string{"get", "patch"} {
		if !slices.ContainsFunc(s.grantsOf(at.Workload), func(g Grant) bool {
			return g.Group == "apiregistration.k8s.io" && g.Resource == "apiservices" && g.Verb == verb && slices.Contains(g.Names, o.Meta.GetName())
		}) {
			s.reportOn(o, "%s may not %s it, so it gets no authority; grant that by its name", at.Name(), verb)
		}
	}
}

// checkInjected checks the Certificate whose authority cert-manager writes into the APIService.
func (s *Set) checkInjected(o Object, from, name string, at server) {
	namespace, of, _ := strings.Cut(from, "/")
	found := s.Find("Certificate", namespace, of)
	if found == nil {
		s.reportOn(o, "there is no Certificate %s; add it, or correct the annotation", from)
		return
	}
	certificate := found.Body.(*certmanager.Certificate)
	if !slices.Contains(certificate.Spec.DNSNames, name+".svc") {
		s.reportOn(*found, "is not for %s.svc, the name that the API server asks for; add it to dnsNames", name)
	}
	for _, v := range at.Spec.Volumes {
		if v.Secret != nil && v.Secret.SecretName == certificate.Spec.SecretName && namespace == at.Meta.GetNamespace() {
			return
		}
	}
	s.reportOn(*found, "is not what %s serves; mount the Secret %s there", at.Name(), certificate.Spec.SecretName)
}

// issues says whether cert-manager makes the Secret.
func (s *Set) issues(namespace, secret string) bool {
	made := false
	All(s, func(o Object, certificate *certmanager.Certificate) {
		made = made || (o.Meta.GetNamespace() == namespace && certificate.Spec.SecretName == secret)
	})
	return made
}

// servesMetric says whether podgpu serves the metric: of pods, or external.
func (s *Set) servesMetric(metric, kind string) bool {
	group := "external.metrics.k8s.io"
	if kind != "" {
		group = "custom.metrics.k8s.io"
	}
	registered := false
	All(s, func(_ Object, api *apiregistration.APIService) { registered = registered || api.Spec.Group == group })
	return registered && (kind == "" || kind == "Pod") && slices.Contains(servedMetrics[group], metric)
}
