// What the cluster role's metrics API and cert-manager make without an object of their own: metrics and Secrets.
package main

import (
	"slices"

	certmanager "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	apiregistration "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
)

// The metrics of podgpu, by the group that serves them.
var servedMetrics = map[string][]string{
	"external.metrics.k8s.io": {"avg_gpu_utilization", "gpu_free", "gpu_idle_pods", "gpu_memory_used_bytes", "gpu_power_watts"},
	"custom.metrics.k8s.io":   {"gpu_energy_rate_watts", "gpu_memory_used_bytes", "gpu_power_watts", "gpu_sm_active", "gpu_utilization"},
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
