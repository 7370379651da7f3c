// Checks of what refers to Services and pods: monitors, autoscalers, policies, routes; and the order of objects.
package main

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	keda "github.com/kedacore/keda/v2/apis/keda/v1alpha1"
	route "github.com/openshift/api/route/v1"
	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Check makes all checks but those of podgpu's own command lines.
func (s *Set) Check() {
	s.checkOrder()
	s.checkWorkloads()
	s.checkServices()
	s.checkServiceMonitors()
	s.checkPodMonitors()
	s.checkAutoscalers()
	s.checkScaledObjects()
	s.checkConfigMaps()
	s.checkRules()
	s.checkPolicies()
	s.checkRoutes()
	s.checkRights()
}

// A namespace comes before the objects in it, and no object comes twice.
func (s *Set) checkOrder() {
	seen := map[string]bool{}
	for _, o := range s.Objects {
		if seen[o.Name()] {
			s.reportOn(o, "appears twice; rename or remove one")
		}
		seen[o.Name()] = true
		namespace := o.Meta.GetNamespace()
		if s.Find("Namespace", "", namespace) != nil && !seen["Namespace "+namespace] {
			s.reportOn(o, "comes before its Namespace %s, so the first apply fails; move the Namespace to the front", namespace)
		}
	}
}

// namespacesOf are the namespaces in which a monitor looks for its targets.
func (s *Set) namespacesOf(own string, selector monitoring.NamespaceSelector) []string {
	if len(selector.MatchNames) > 0 {
		return selector.MatchNames
	}
	if !selector.Any {
		return []string{own}
	}
	var all []string
	seen := map[string]bool{}
	for _, o := range s.Objects {
		if n := o.Meta.GetNamespace(); n != "" && !seen[n] {
			seen[n] = true
			all = append(all, n)
		}
	}
	return all
}

// servicesOf are the Services that a ServiceMonitor selects.
func (s *Set) servicesOf(o Object, monitor *monitoring.ServiceMonitor) []*core.Service {
	selector, err := metav1.LabelSelectorAsSelector(&monitor.Spec.Selector)
	if err != nil {
		s.reportOn(o, "has a selector that is not valid: %v", err)
		return nil
	}
	var found []*core.Service
	for _, namespace := range s.namespacesOf(o.Meta.GetNamespace(), monitor.Spec.NamespaceSelector) {
		All(s, func(at Object, service *core.Service) {
			if at.Meta.GetNamespace() == namespace && selector.Matches(labels.Set(service.Labels)) {
				found = append(found, service)
			}
		})
	}
	return found
}

func (s *Set) checkServiceMonitors() {
	All(s, func(o Object, monitor *monitoring.ServiceMonitor) {
		services := s.servicesOf(o, monitor)
		if len(services) == 0 {
			s.reportOn(o, "selects no Service; use the labels of a Service, or add the Service")
		}
		for _, endpoint := range monitor.Spec.Endpoints {
			s.checkInterval(o, endpoint.Interval, endpoint.ScrapeTimeout)
			found := false
			readBy := map[string]string{} // The Service by which Prometheus reads the pods of a workload.
			for _, service := range services {
				pods, hasPort := s.checkEndpoint(o, service, endpoint)
				found = found || hasPort
				for _, w := range pods {
					name := fmt.Sprintf("Service %s/%s", service.Namespace, service.Name)
					if other := readBy[w.Name()]; other != "" {
						s.reportOn(o, "selects %s and %s, which both lead to %s, so each sum doubles; exclude one of them", other, name, w.Name())
					}
					readBy[w.Name()] = name
				}
			}
			if !found && len(services) > 0 {
				s.reportOn(o, "endpoint %q is no port name of the Services that it selects; use one of their names", endpoint.Port)
			}
		}
	})
}

// checkEndpoint returns the workloads behind the Service and whether it has the endpoint's port, and checks the path there.
func (s *Set) checkEndpoint(o Object, service *core.Service, endpoint monitoring.Endpoint) ([]Workload, bool) {
	target := intstr.FromString("")
	if endpoint.TargetPort != nil {
		target = *endpoint.TargetPort
	} else if p := servicePort(service, intstr.FromString(endpoint.Port)); p != nil && endpoint.Port != "" {
		target = targetOf(*p)
	} else {
		return nil, false
	}
	pods := s.selected(service.Namespace, labels.SelectorFromSet(service.Spec.Selector))
	for _, w := range pods {
		s.checkScrapedPath(o, w, target, endpoint.Path)
	}
	return pods, true
}

func (s *Set) checkScrapedPath(o Object, w Workload, port intstr.IntOrString, path string) {
	c, declared := portOf(w.Spec, port)
	if path == "" {
		path = "/metrics"
	}
	// Every path of the address of --in-use-listen serves its page.
	if c != nil && isPodgpu(*c) && !servedPaths[roleOf(*c)][path] && !listensEverywhere(*c, declared.ContainerPort) && !hasMetricsPath(*c, path) {
		s.reportOn(o, "scrapes %s, which podgpu does not serve in %s; use /metrics", path, w.Name())
	}
}

func listensEverywhere(c core.Container, port int32) bool {
	suffix := fmt.Sprintf(":%d", port)
	for _, a := range c.Args {
		if strings.HasPrefix(strings.TrimLeft(a, "-"), "in-use-listen=") && strings.HasSuffix(a, suffix) {
			return true
		}
	}
	return false
}

func hasMetricsPath(c core.Container, path string) bool {
	for _, a := range c.Args {
		if strings.TrimLeft(a, "-") == "metrics-path="+path {
			return true
		}
	}
	return false
}

func (s *Set) checkInterval(o Object, interval, timeout monitoring.Duration) {
	if interval == "" || timeout == "" {
		return
	}
	every, err := time.ParseDuration(string(interval))
	limit, err2 := time.ParseDuration(string(timeout))
	if err == nil && err2 == nil && limit > every {
		s.reportOn(o, "scrapeTimeout %s is above interval %s; make it shorter", timeout, interval)
	}
}

func (s *Set) checkPodMonitors() {
	All(s, func(o Object, monitor *monitoring.PodMonitor) {
		selector, err := metav1.LabelSelectorAsSelector(&monitor.Spec.Selector)
		if err != nil {
			s.reportOn(o, "has a selector that is not valid: %v", err)
			return
		}
		var pods []Workload
		for _, namespace := range s.namespacesOf(o.Meta.GetNamespace(), monitor.Spec.NamespaceSelector) {
			pods = append(pods, s.selected(namespace, selector)...)
		}
		if len(pods) == 0 {
			s.reportOn(o, "selects no pod; use the labels of the pods")
		}
		for _, endpoint := range monitor.Spec.PodMetricsEndpoints {
			s.checkInterval(o, endpoint.Interval, endpoint.ScrapeTimeout)
			port := intstr.FromString("")
			if endpoint.Port != nil {
				port = intstr.FromString(*endpoint.Port)
			} else if endpoint.PortNumber != nil {
				port = intstr.FromInt32(*endpoint.PortNumber)
			}
			for _, w := range pods {
				if !hasPort(w, port) {
					s.reportOn(o, "endpoint %q is no port of %s; use a name of its ports", port.String(), w.Name())
				}
				s.checkScrapedPath(o, w, port, endpoint.Path)
			}
		}
	})
}

func (s *Set) checkAutoscalers() {
	All(s, func(o Object, hpa *autoscaling.HorizontalPodAutoscaler) {
		target := hpa.Spec.ScaleTargetRef
		s.checkTarget(o, "scaleTargetRef", target.Kind, target.Name)
		for _, metric := range hpa.Spec.Metrics {
			switch {
			case metric.Object != nil:
				described := metric.Object.DescribedObject
				s.checkTarget(o, "describedObject", described.Kind, described.Name)
				s.checkRule(o, metric.Object.Metric.Name, described.Kind)
				if described.Kind == "Service" {
					s.checkScraped(o, described.Name)
				}
			case metric.External != nil:
				s.checkRule(o, metric.External.Metric.Name, "")
			case metric.Pods != nil:
				s.checkRule(o, metric.Pods.Metric.Name, "Pod")
			}
		}
	})
}

func (s *Set) checkTarget(o Object, what, kind, name string) {
	if !s.Has(kind, o.Meta.GetNamespace(), name) {
		s.reportOn(o, "%s: there is no %s %s/%s; add it, or declare it as external", what, kind, o.Meta.GetNamespace(), name)
	}
}

// checkRule checks that podgpu or a rule of prometheus-adapter serves the metric, of the kind that it describes (empty: external).
func (s *Set) checkRule(o Object, metric, kind string) {
	if s.servesMetric(metric, kind) {
		return
	}
	if s.Adapter == nil {
		if !s.external["Metric "+metric] {
			s.reportOn(o, "neither podgpu nor a rule of prometheus-adapter makes the metric %s; correct its name, or add a rule or an APIService", metric)
		}
		return
	}
	rules := s.Adapter.Rules.Custom
	if kind == "" {
		rules = s.Adapter.Rules.External
	}
	for _, rule := range rules {
		if rule.Name.As != metric {
			continue
		}
		if kind == "" {
			return
		}
		for _, override := range rule.Resources.Overrides {
			if strings.EqualFold(override.Resource, kind) {
				return
			}
		}
	}
	s.reportOn(o, "no rule of prometheus-adapter makes the metric %s for the kind %q; add one", metric, kind)
}

// checkScraped checks that a ServiceMonitor selects the Service, since the adapter reads the label "service" of its series.
func (s *Set) checkScraped(o Object, name string) {
	if s.Find("Service", o.Meta.GetNamespace(), name) == nil {
		return
	}
	scraped := false
	All(s, func(at Object, monitor *monitoring.ServiceMonitor) {
		for _, service := range s.servicesOf(at, monitor) {
			scraped = scraped || (service.Name == name && service.Namespace == o.Meta.GetNamespace())
		}
	})
	if !scraped {
		s.reportOn(o, "no ServiceMonitor selects the Service %s, so its metric never exists; add one", name)
	}
}

func (s *Set) checkScaledObjects() {
	All(s, func(o Object, scaled *keda.ScaledObject) {
		if ref := scaled.Spec.ScaleTargetRef; ref != nil {
			kind := ref.Kind
			if kind == "" {
				kind = "Deployment"
			}
			s.checkTarget(o, "scaleTargetRef", kind, ref.Name)
		}
		for _, trigger := range scaled.Spec.Triggers {
			for _, needed := range scalerKeys[trigger.Type] {
				if trigger.Metadata[needed] == "" {
					s.reportOn(o, "its trigger %s lacks %s; add it to metadata", trigger.Type, needed)
				}
			}
			if trigger.Type == "metrics-api" {
				s.checkAsked(o, trigger.Metadata["url"])
			}
		}
	})
}

// The keys of metadata that KEDA's scalers need.
var scalerKeys = map[string][]string{
	"prometheus":  {"serverAddress", "query", "threshold"},
	"metrics-api": {"url", "valueLocation", "targetValue"},
}

// checkAsked checks that the address, such as http://podgpu-cluster.podgpu.svc:9401/path, is that of a Service here.
func (s *Set) checkAsked(o Object, address string) {
	at, err := url.Parse(address)
	if err != nil {
		s.reportOn(o, "asks %q, which is no URL: %v", address, err)
		return
	}
	name, rest, _ := strings.Cut(at.Hostname(), ".")
	namespace, _, _ := strings.Cut(rest, ".")
	service := s.Find("Service", namespace, name)
	if service == nil {
		s.reportOn(o, "asks %s, but there is no Service %s/%s; use NAME.NAMESPACE.svc of one", address, namespace, name)
		return
	}
	if port := intstr.Parse(at.Port()); servicePort(service.Body.(*core.Service), port) == nil {
		s.reportOn(o, "port %q of %s is no port of %s; use the number of one", at.Port(), address, service.Name())
	}
}

func (s *Set) checkPolicies() {
	All(s, func(o Object, p *networking.NetworkPolicy) {
		pods := s.checkSelects(o, &p.Spec.PodSelector)
		for _, rule := range p.Spec.Ingress {
			for _, port := range rule.Ports {
				for _, w := range pods {
					if port.Port != nil && !hasPort(w, *port.Port) {
						s.reportOn(o, "allows port %s, which %s does not have; use a port of its containers", port.Port.String(), w.Name())
					}
				}
			}
		}
	})
	All(s, func(o Object, p *policy.PodDisruptionBudget) {
		if p.Spec.Selector != nil {
			s.checkSelects(o, p.Spec.Selector)
		}
		if p.Spec.MinAvailable != nil && p.Spec.MaxUnavailable != nil {
			s.reportOn(o, "has both minAvailable and maxUnavailable; remove one")
		}
	})
}

func (s *Set) checkSelects(o Object, by *metav1.LabelSelector) []Workload {
	selector, err := metav1.LabelSelectorAsSelector(by)
	if err != nil {
		s.reportOn(o, "has a selector that is not valid: %v", err)
		return nil
	}
	pods := s.selected(o.Meta.GetNamespace(), selector)
	if len(pods) == 0 {
		s.reportOn(o, "selects no pod; use the labels of the pods")
	}
	return pods
}

func (s *Set) checkRoutes() {
	All(s, func(o Object, r *route.Route) {
		port := intstr.FromString("")
		if r.Spec.Port != nil {
			port = r.Spec.Port.TargetPort
		}
		s.checkBackend(o, r.Spec.To.Name, port)
	})
	All(s, func(o Object, ingress *networking.Ingress) {
		for _, rule := range ingress.Spec.Rules {
			if rule.HTTP == nil {
				continue
			}
			for _, path := range rule.HTTP.Paths {
				if to := path.Backend.Service; to != nil {
					port := intstr.FromString(to.Port.Name)
					if to.Port.Number != 0 {
						port = intstr.FromInt32(to.Port.Number)
					}
					s.checkBackend(o, to.Name, port)
				}
			}
		}
	})
}

// checkBackend checks that the Service exists and has the port; the empty name means any port.
func (s *Set) checkBackend(o Object, name string, port intstr.IntOrString) {
	at := s.Find("Service", o.Meta.GetNamespace(), name)
	if at == nil {
		s.checkTarget(o, "to", "Service", name)
		return
	}
	if port != intstr.FromString("") && servicePort(at.Body.(*core.Service), port) == nil {
		s.reportOn(o, "port %s is no port of %s; use the name of one", port.String(), at.Name())
	}
}
