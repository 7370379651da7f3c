// What the autoscaler and kubectl ask, with Kubernetes' own clients, through the aggregator.
package main

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"
	custom "k8s.io/metrics/pkg/apis/custom_metrics/v1beta2"
	external "k8s.io/metrics/pkg/apis/external_metrics/v1beta1"
	custommetrics "k8s.io/metrics/pkg/client/custom_metrics"
	externalmetrics "k8s.io/metrics/pkg/client/external_metrics"
)

var externalNames = []string{"avg_gpu_utilization", "gpu_free", "gpu_idle_pods", "gpu_memory_used_bytes", "gpu_power_watts"}
var podNames = []string{"pods/gpu_energy_rate_watts", "pods/gpu_memory_used_bytes", "pods/gpu_power_watts", "pods/gpu_sm_active", "pods/gpu_utilization"}

func pemOf(raw []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})
}

func selector(text string) labels.Selector {
	parsed, err := labels.Parse(text)
	if err != nil {
		panic(err)
	}
	return parsed
}

// checkAvailability asks what the aggregator asks to decide whether an APIService is available: the list of a version, and a
// good answer within 5 s.
func checkAvailability(ctx context.Context, cluster *aggregator) error {
	client, err := rest.HTTPClientFor(cluster.config(kubeAggregatorToken))
	if err != nil {
		return err
	}
	client.Timeout = 5 * time.Second
	for _, path := range []string{"/apis/external.metrics.k8s.io/v1beta1", "/apis/custom.metrics.k8s.io/v1beta2", "/healthz", "/livez", "/readyz"} {
		response, err := client.Get(cluster.URL + path)
		if err != nil {
			return err
		}
		response.Body.Close()
		if response.StatusCode != 200 {
			return fmt.Errorf("%s: status %d", path, response.StatusCode)
		}
	}
	return nil
}

// checkDiscovery compares the lists of metrics, with both forms of discovery.
func checkDiscovery(ctx context.Context, cluster *aggregator) error {
	for _, legacy := range []bool{true, false} {
		client, err := discovery.NewDiscoveryClientForConfig(cluster.config(autoscalerToken))
		if err != nil {
			return err
		}
		client.UseLegacyDiscovery = legacy
		if _, resources, _, err := client.GroupsAndMaybeResources(); err != nil || (resources == nil) != legacy {
			return fmt.Errorf("legacy %v: the list of groups has resources: %v: %w", legacy, resources != nil, err)
		}
		groups, lists, err := client.ServerGroupsAndResources()
		if err != nil {
			return err
		}
		found := map[string][]string{}
		for _, list := range lists {
			for _, resource := range list.APIResources {
				if !resource.Namespaced || !slices.Contains(resource.Verbs, "get") {
					return fmt.Errorf("%s has no namespace or cannot be read: %+v", list.GroupVersion, resource)
				}
				found[list.GroupVersion] = append(found[list.GroupVersion], resource.Name)
			}
			slices.Sort(found[list.GroupVersion])
		}
		if len(groups) != 2 || !slices.Equal(found["external.metrics.k8s.io/v1beta1"], externalNames) ||
			!slices.Equal(found["custom.metrics.k8s.io/v1beta2"], podNames) {
			return fmt.Errorf("legacy %v: %d groups: %v", legacy, len(groups), found)
		}
	}
	return nil
}

// checkOpenAPI reads the documents that the aggregator merges into those of the cluster, of both versions.
func checkOpenAPI(ctx context.Context, cluster *aggregator) error {
	client, err := discovery.NewDiscoveryClientForConfig(cluster.config(autoscalerToken))
	if err != nil {
		return err
	}
	second, err := client.RESTClient().Get().AbsPath("/openapi/v2").SetHeader("Accept", "application/json").DoRaw(ctx)
	if err != nil {
		return err
	}
	var swagger spec.Swagger
	if err := json.Unmarshal(second, &swagger); err != nil || swagger.Swagger != "2.0" || swagger.Paths == nil {
		return fmt.Errorf("/openapi/v2: version %q: %w", swagger.Swagger, err)
	}
	paths, err := client.OpenAPIV3().Paths()
	if err != nil {
		return err
	}
	for _, name := range []string{"apis/external.metrics.k8s.io/v1beta1", "apis/custom.metrics.k8s.io/v1beta2"} {
		at, listed := paths[name]
		if !listed {
			return fmt.Errorf("%s is not among %v", name, paths)
		}
		text, err := at.Schema("application/json")
		if err != nil {
			return err
		}
		var document spec3.OpenAPI
		if err := json.Unmarshal(text, &document); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if document.Version == "" || document.Paths == nil || len(document.Paths.Paths) == 0 {
			return fmt.Errorf("%s: version %q without paths", name, document.Version)
		}
	}
	return nil
}

func externalClient(cluster *aggregator, token string) (externalmetrics.ExternalMetricsClient, error) {
	return externalmetrics.NewForConfig(cluster.config(token))
}

// oneValue is the only value of an external metric; the autoscaler would add up several.
func oneValue(list *external.ExternalMetricValueList, err error) (float64, error) {
	if err != nil {
		return 0, err
	}
	if len(list.Items) != 1 {
		return 0, fmt.Errorf("%d values", len(list.Items))
	}
	item := list.Items[0]
	if age := time.Since(item.Timestamp.Time); item.WindowSeconds == nil || *item.WindowSeconds <= 0 || age < -time.Minute || age > 2*time.Minute {
		return 0, fmt.Errorf("a window of %v and an age of %v", item.WindowSeconds, age)
	}
	return float64(item.Value.MilliValue()) / 1000, nil
}

// checkExternal compares the values with the loads of the simulated nodes.
func checkExternal(ctx context.Context, cluster *aggregator) error {
	client, err := externalClient(cluster, autoscalerToken)
	if err != nil {
		return err
	}
	for _, row := range []struct {
		namespace, metric, selector string
		least, most                 float64
	}{
		{"serving", "avg_gpu_utilization", "", 29, 31},
		{"serving", "avg_gpu_utilization", "measure=sm", 68, 72},
		{"serving", "avg_gpu_utilization", "measure=sm,workload=llm", 68, 72},
		{"research", "avg_gpu_utilization", "", 59, 61},
		{"research", "avg_gpu_utilization", "topology.kubernetes.io/zone in (b,c)", 59, 61},
		{"research", "avg_gpu_utilization", "node=gpu-node-2", 59, 61},
		{"serving", "gpu_free", "", 1, 1},
		{"serving", "gpu_free", "node!=gpu-node-2", 0, 0},
		{"serving", "gpu_idle_pods", "", 0, 0},
		{"serving", "gpu_memory_used_bytes", "", 60 << 30, 90 << 30},
		{"serving", "gpu_power_watts", "", 100, 1400},
	} {
		err := await(ctx, func() error {
			value, err := oneValue(client.NamespacedMetrics(row.namespace).List(row.metric, selector(row.selector)))
			if err == nil && (value < row.least || value > row.most) {
				err = fmt.Errorf("%v is not between %v and %v", value, row.least, row.most)
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("%s of %s, %q: %w", row.metric, row.namespace, row.selector, err)
		}
	}
	return nil
}

// podClient finds the version of the API by discovery, as the autoscaler does.
func podClient(cluster *aggregator, token string) (custommetrics.CustomMetricsClient, error) {
	config := cluster.config(token)
	groups, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	core := schema.GroupVersion{Version: "v1"}
	mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{core})
	mapper.Add(core.WithKind("Pod"), meta.RESTScopeNamespace)
	return custommetrics.NewForConfig(config, mapper, custommetrics.NewAvailableAPIsGetter(groups)), nil
}

var podKind = schema.GroupKind{Kind: "Pod"}

// checkPods compares the values of pods, selected by their labels and by name.
func checkPods(ctx context.Context, cluster *aggregator) error {
	client, err := podClient(cluster, autoscalerToken)
	if err != nil {
		return err
	}
	serving := client.NamespacedMetrics("serving")
	for _, row := range []struct {
		metric, pods string
		values       map[string][2]float64 // Least and most, by pod.
	}{
		{"gpu_sm_active", "app=llm", map[string][2]float64{"llm-0": {smLow(80), smHigh(80)}, "llm-1": {smLow(60), smHigh(60)}}},
		{"gpu_sm_active", "app=llm,tier=canary", map[string][2]float64{"llm-1": {smLow(60), smHigh(60)}}},
		{"gpu_sm_active", "", map[string][2]float64{"llm-0": {smLow(80), smHigh(80)}, "llm-1": {smLow(60), smHigh(60)}}},
		{"gpu_utilization", "tier notin (canary)", map[string][2]float64{"llm-0": {1, 100}}},
		{"gpu_memory_used_bytes", "tier=canary", map[string][2]float64{"llm-1": {30 << 30, 45 << 30}}},
		{"gpu_power_watts", "tier=canary", map[string][2]float64{"llm-1": {50, 700}}},
		{"gpu_energy_rate_watts", "tier=canary", map[string][2]float64{"llm-1": {50, 700}}},
	} {
		err := await(ctx, func() error {
			list, err := serving.GetForObjects(podKind, selector(row.pods), row.metric, labels.Everything())
			if err != nil {
				return err
			}
			return comparePods(list, row.metric, row.values)
		})
		if err != nil {
			return fmt.Errorf("%s of %q: %w", row.metric, row.pods, err)
		}
	}
	one, err := serving.GetForObject(podKind, "llm-0", "gpu_sm_active", labels.Everything())
	if err != nil {
		return err
	}
	return comparePods(&custom.MetricValueList{Items: []custom.MetricValue{*one}}, "gpu_sm_active",
		map[string][2]float64{"llm-0": {smLow(80), smHigh(80)}})
}

func smLow(percent float64) float64  { return percent - 2 }
func smHigh(percent float64) float64 { return percent + 2 }

func comparePods(list *custom.MetricValueList, metric string, values map[string][2]float64) error {
	if len(list.Items) != len(values) {
		return fmt.Errorf("%d values, not %d: %+v", len(list.Items), len(values), list.Items)
	}
	for _, item := range list.Items {
		of := item.DescribedObject
		limits, expected := values[of.Name]
		value := float64(item.Value.MilliValue()) / 1000
		if !expected || value < limits[0] || value > limits[1] {
			return fmt.Errorf("%s has %v, expected %v", of.Name, value, limits)
		}
		if of.Kind != "Pod" || of.Namespace != "serving" || item.Metric.Name != metric || item.WindowSeconds == nil || item.Timestamp.IsZero() {
			return fmt.Errorf("an item that is not complete: %+v", item)
		}
	}
	return nil
}

// checkAbsent: what has no value is an error with the reason, and never zero.
func checkAbsent(ctx context.Context, cluster *aggregator) error {
	client, err := externalClient(cluster, autoscalerToken)
	if err != nil {
		return err
	}
	pods, err := podClient(cluster, autoscalerToken)
	if err != nil {
		return err
	}
	for _, row := range []struct {
		what, says string
		is         func(error) bool
		ask        func() error
	}{
		{"no GPU in the namespace", "empty", errors.IsNotFound, func() error {
			_, err := client.NamespacedMetrics("empty").List("avg_gpu_utilization", labels.Everything())
			return err
		}},
		{"no such metric", "no_such_metric", errors.IsNotFound, func() error {
			_, err := client.NamespacedMetrics("serving").List("no_such_metric", labels.Everything())
			return err
		}},
		{"no such label", "colour", errors.IsBadRequest, func() error {
			_, err := client.NamespacedMetrics("serving").List("avg_gpu_utilization", selector("colour=red"))
			return err
		}},
		{"no pod with these labels", "", errors.IsNotFound, func() error {
			_, err := pods.NamespacedMetrics("serving").GetForObjects(podKind, selector("app=other"), "gpu_sm_active", labels.Everything())
			return err
		}},
		{"no such pod", "llm-9", errors.IsNotFound, func() error {
			_, err := pods.NamespacedMetrics("serving").GetForObject(podKind, "llm-9", "gpu_sm_active", labels.Everything())
			return err
		}},
	} {
		err := row.ask()
		if err == nil || !row.is(err) || !strings.Contains(err.Error(), row.says) {
			return fmt.Errorf("%s: %v", row.what, err)
		}
	}
	return nil
}

// checkNamespaces: users get the metrics of the namespaces that they may read, and nothing of others.
func checkNamespaces(ctx context.Context, cluster *aggregator) error {
	for token, may := range map[string]map[string]bool{aliceToken: {"serving": true, "research": false}, bobToken: {"serving": false, "research": false}} {
		client, err := externalClient(cluster, token)
		if err != nil {
			return err
		}
		pods, err := podClient(cluster, token)
		if err != nil {
			return err
		}
		for namespace, allowed := range may {
			_, first := client.NamespacedMetrics(namespace).List("avg_gpu_utilization", labels.Everything())
			_, second := pods.NamespacedMetrics(namespace).GetForObjects(podKind, labels.Everything(), "gpu_sm_active", labels.Everything())
			for _, err := range []error{first, second} {
				if allowed && err != nil || !allowed && !errors.IsForbidden(err) {
					return fmt.Errorf("%s in %s: %v", token, namespace, err)
				}
			}
		}
	}
	return nil
}
