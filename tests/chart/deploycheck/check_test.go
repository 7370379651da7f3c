package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Objects without a defect; each test changes one of them.
const sound = `apiVersion: v1
kind: Namespace
metadata: {name: gpu, labels: {pod-security.kubernetes.io/enforce: privileged}}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: podgpu, namespace: gpu}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: counters, namespace: gpu}
data: {metrics: "DCGM_FI_DEV_GPU_TEMP,gauge,Heat.\n"}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: podgpu}
rules:
  - {apiGroups: [""], resources: [pods], verbs: [list, watch]}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: podgpu}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: podgpu}
subjects: [{kind: ServiceAccount, name: podgpu, namespace: gpu}]
---
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: podgpu, namespace: gpu}
spec:
  selector: {matchLabels: {app: podgpu}}
  template:
    metadata: {labels: {app: podgpu}}
    spec:
      serviceAccountName: podgpu
      hostNetwork: true
      containers:
        - name: exporter
          image: registry.example/podgpu:1
          args: ["-f", /etc/podgpu/metrics]
          env:
            - {name: DCGM_EXPORTER_KUBERNETES, value: "true"}
            - {name: NODE_NAME, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}
          ports: [{name: metrics, containerPort: 9400, hostPort: 9400}]
          livenessProbe: {httpGet: {path: /healthz, port: metrics}}
          readinessProbe: {httpGet: {path: /readyz, port: metrics}}
          resources: {requests: {cpu: 10m, memory: 32Mi}, limits: {memory: 64Mi}}
          volumeMounts:
            - {name: counters, mountPath: /etc/podgpu, readOnly: true}
            - {name: kubelet, mountPath: /var/lib/kubelet/pod-resources, readOnly: true}
      volumes:
        - {name: counters, configMap: {name: counters}}
        - {name: kubelet, hostPath: {path: /var/lib/kubelet/pod-resources}}
---
apiVersion: v1
kind: Service
metadata: {name: podgpu, namespace: gpu, labels: {app: podgpu}}
spec:
  selector: {app: podgpu}
  ports: [{name: metrics, port: 9400, targetPort: metrics}]
---
apiVersion: monitoring.coreos.com/v1
kind: ServiceMonitor
metadata: {name: podgpu, namespace: gpu}
spec:
  selector: {matchLabels: {app: podgpu}}
  endpoints: [{port: metrics, path: /metrics, interval: 15s, scrapeTimeout: 10s}]
---
apiVersion: monitoring.coreos.com/v1
kind: PodMonitor
metadata: {name: podgpu, namespace: gpu}
spec:
  selector: {matchLabels: {app: podgpu}}
  podMetricsEndpoints: [{port: metrics}]
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: podgpu, namespace: gpu}
spec:
  podSelector: {matchLabels: {app: podgpu}}
  ingress: [{ports: [{port: metrics}]}]
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: podgpu, namespace: gpu}
spec: {minAvailable: 1, selector: {matchLabels: {app: podgpu}}}
---
apiVersion: route.openshift.io/v1
kind: Route
metadata: {name: podgpu, namespace: gpu}
spec: {to: {kind: Service, name: podgpu}, port: {targetPort: metrics}}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: podgpu, namespace: gpu}
spec:
  rules: [{http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: podgpu, port: {name: metrics}}}}]}}]
---
apiVersion: security.openshift.io/v1
kind: SecurityContextConstraints
metadata: {name: podgpu}
users: ["system:serviceaccount:gpu:podgpu"]
---
apiVersion: monitoring.coreos.com/v1
kind: PrometheusRule
metadata: {name: podgpu, namespace: gpu}
spec:
  groups:
    - {name: recording, rules: [{record: "a:b", expr: b}]}
    - {name: alerts, rules: [{alert: A, expr: b}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: dashboard, namespace: gpu}
data: {a.json: "{}"}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: scaled, namespace: gpu}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: llm}
  maxReplicas: 2
  metrics:
    - type: Object
      object:
        describedObject: {apiVersion: v1, kind: Service, name: podgpu}
        metric: {name: avg_GPU_utilization}
        target: {type: Value, value: "60"}
---
apiVersion: keda.sh/v1alpha1
kind: ScaledObject
metadata: {name: scaled, namespace: gpu}
spec:
  scaleTargetRef: {name: llm}
  triggers:
    - {type: prometheus, metadata: {serverAddress: "http://prometheus:9090", query: up, threshold: "1"}}
    - {type: metrics-api, metadata: {url: "http://podgpu.gpu.svc:9400/api?a=b", valueLocation: value, targetValue: "1"}}
---
rules:
  custom:
    - seriesQuery: avg_GPU_utilization
      resources: {overrides: {service: {resource: service}}}
      name: {as: avg_GPU_utilization}
      metricsQuery: avg(x)
`

// The cluster role with the metrics API, and what registers it; each test changes one of them.
const apis = `apiVersion: v1
kind: ServiceAccount
metadata: {name: cluster, namespace: gpu}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: cluster}
rules:
  - apiGroups: [apiregistration.k8s.io]
    resources: [apiservices]
    resourceNames: [v1beta1.external.metrics.k8s.io, v1beta2.custom.metrics.k8s.io]
    verbs: [get, patch]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: cluster}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster}
subjects: [{kind: ServiceAccount, name: cluster, namespace: gpu}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: cluster-auth}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: "system:auth-delegator"}
subjects: [{kind: ServiceAccount, name: cluster, namespace: gpu}]
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: cluster, namespace: gpu}
spec:
  selector: {matchLabels: {app: cluster}}
  template:
    metadata: {labels: {app: cluster}}
    spec:
      serviceAccountName: cluster
      containers:
        - name: cluster
          image: registry.example/podgpu:1
          args: [cluster, "--metrics-api-listen=:9443", --metrics-api-service=cluster.gpu]
          ports: [{name: metrics, containerPort: 9401}, {name: metrics-api, containerPort: 9443}]
          livenessProbe: {httpGet: {path: /healthz, port: metrics}}
          readinessProbe: {httpGet: {path: /readyz, port: metrics}}
          resources: {requests: {cpu: 10m, memory: 32Mi}, limits: {memory: 64Mi}}
---
apiVersion: v1
kind: Service
metadata: {name: cluster, namespace: gpu}
spec:
  selector: {app: cluster}
  ports: [{name: metrics, port: 9401, targetPort: metrics}, {name: metrics-api, port: 443, targetPort: metrics-api}]
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1beta1.external.metrics.k8s.io, annotations: {}}
spec:
  {group: external.metrics.k8s.io, version: v1beta1, groupPriorityMinimum: 100, versionPriority: 100,
   service: {name: cluster, namespace: gpu, port: 443}}
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1beta2.custom.metrics.k8s.io}
spec:
  {group: custom.metrics.k8s.io, version: v1beta2, groupPriorityMinimum: 100, versionPriority: 100,
   service: {name: cluster, namespace: gpu}}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: scaled, namespace: gpu}
spec:
  scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: llm}
  maxReplicas: 2
  metrics:
    - {type: External, external: {metric: {name: avg_gpu_utilization}, target: {type: Value, value: "60"}}}
    - {type: Pods, pods: {metric: {name: gpu_sm_active}, target: {type: AverageValue, averageValue: "60"}}}
`

// A certificate that cert-manager makes.
const certificate = `---
apiVersion: cert-manager.io/v1
kind: Certificate
metadata: {name: serving, namespace: gpu}
spec: {secretName: serving, dnsNames: [cluster.gpu.svc], issuerRef: {name: ca}}
`

// withCertManager lets cert-manager make the certificate.
func withCertManager(text string) string {
	return strings.NewReplacer("annotations: {}", "annotations: {cert-manager.io/inject-ca-from: gpu/serving}",
		"{name: v1beta2.custom.metrics.k8s.io}", "{name: v1beta2.custom.metrics.k8s.io, annotations: {cert-manager.io/inject-ca-from: gpu/serving}}",
		"--metrics-api-service=cluster.gpu]", "--metrics-api-cert-file=/serving/tls.crt]\n          volumeMounts: [{name: serving, mountPath: /serving}]",
		"      containers:", "      volumes: [{name: serving, secret: {secretName: serving}}]\n      containers:").Replace(text) + certificate
}

const declared = "Deployment gpu/llm # belongs to the user\n"

// A program that refuses --wrong, and knows two variables.
const program = `#!/bin/sh
for word; do
  case $word in
    --wrong) echo "podgpu: unknown flag --wrong" >&2; exit 2 ;;
  esac
done
echo "variable DCGM_EXPORTER_KUBERNETES; variable PODGPU_SOURCE"
`

func checkText(t *testing.T, text string) string {
	t.Helper()
	folder := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(folder, name)
		if err := os.WriteFile(path, []byte(content), 0o755); err != nil {
			t.Fatal(err)
		}
		return path
	}
	findings, err := run(options{podgpu: write("podgpu", program), external: write("external", declared), namespace: "gpu"},
		[]string{write("all.yaml", text)})
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, finding := range findings {
		lines = append(lines, finding.String())
	}
	return strings.Join(lines, "\n")
}

func TestAcceptsSoundObjects(t *testing.T) {
	if found := checkText(t, sound); found != "" {
		t.Error(found)
	}
}

func TestNamesTheFileTheObjectAndTheRemedy(t *testing.T) {
	found := checkText(t, strings.Replace(sound, "path: /healthz", "path: /alive", 1))
	if !strings.Contains(found, "all.yaml: DaemonSet gpu/podgpu: container exporter: livenessProbe asks /alive") ||
		!strings.Contains(found, "use /healthz or /readyz") {
		t.Error(found)
	}
}

// One object for every check that fails it.
func TestFindsEachDefect(t *testing.T) {
	const account = "kind: ServiceAccount\nmetadata: {name: podgpu, namespace: gpu}"
	rows := []struct{ name, from, to, want string }{
		{"unknown field", "hostPath: {path:", "hostPath: {paht:", "unknown field"},
		{"wrong type", "containerPort: 9400", "containerPort: no", "cannot be decoded"},
		{"unknown kind", "kind: NetworkPolicy", "kind: NetworkPolice", "cannot be decoded"},
		{"not YAML", "rules:\n  custom:", "rules: [\n  custom:", "is not YAML"},
		{"key of the adapter", "seriesQuery:", "serieQuery:", "no set of values for prometheus-adapter"},
		{"no name", "metadata: {name: scaled, namespace: gpu}", "metadata: {namespace: gpu}", "has no metadata.name"},
		{"namespace of a cluster kind", "kind: ClusterRole\nmetadata: {name: podgpu}", "kind: ClusterRole\nmetadata: {name: podgpu, namespace: gpu}", "remove metadata.namespace"},
		{"late namespace", sound, strings.TrimPrefix(sound, "apiVersion: v1\nkind: Namespace\nmetadata: {name: gpu, labels: {pod-security.kubernetes.io/enforce: privileged}}\n---\n") + "---\napiVersion: v1\nkind: Namespace\nmetadata: {name: gpu, labels: {pod-security.kubernetes.io/enforce: privileged}}\n", "comes before its Namespace gpu"},
		{"object twice", account, account + "\n---\napiVersion: v1\n" + account, "appears twice"},
		{"selector", "selector: {matchLabels: {app: podgpu}}\n  template", "selector: {matchLabels: {app: other}}\n  template", "but its pods have"},
		{"empty selector", "selector: {matchLabels: {app: podgpu}}\n  template", "selector: {}\n  template", "empty selector"},
		{"invalid selector", "selector: {matchLabels: {app: podgpu}}\n  template", "selector: {matchLabels: {app: \"a b\"}}\n  template", "a selector that is not valid"},
		{"port name twice", "hostPort: 9400}]", "hostPort: 9400}, {name: metrics, containerPort: 9401}]", "two ports named"},
		{"host port", "hostPort: 9400", "hostPort: 9500", "hostPort must equal containerPort"},
		{"probe port", "httpGet: {path: /healthz, port: metrics}", "httpGet: {path: /healthz, port: http}", "asks port http"},
		{"volume twice", "- {name: counters, configMap: {name: counters}}", "- {name: counters, configMap: {name: counters}}\n        - {name: counters, emptyDir: {}}", "two volumes named"},
		{"volume without mount", "volumes:\n", "volumes:\n        - {name: spare, emptyDir: {}}\n", "is mounted nowhere"},
		{"mount without volume", "volumeMounts:\n", "volumeMounts:\n            - {name: lost, mountPath: /lost}\n", "which the pod does not have"},
		{"mount twice", "mountPath: /etc/podgpu,", "mountPath: /var/lib/kubelet/pod-resources,", "mounts two volumes at"},
		{"ConfigMap", "configMap: {name: counters}", "configMap: {name: other}", "there is no ConfigMap gpu/other"},
		{"key", "configMap: {name: counters}", "configMap: {name: counters, items: [{key: lines, path: metrics}]}", "has no key \"lines\""},
		{"subPath", "mountPath: /etc/podgpu,", "mountPath: /etc/podgpu/metrics, subPath: lines,", "has no key \"lines\""},
		{"Secret", "configMap: {name: counters}", "secret: {secretName: counters}", "there is no Secret gpu/counters"},
		{"projected Secret", "configMap: {name: counters}", "projected: {sources: [{secret: {name: token}}]}", "there is no Secret gpu/token"},
		{"claim", "configMap: {name: counters}", "persistentVolumeClaim: {claimName: disk}", "there is no PersistentVolumeClaim gpu/disk"},
		{"variable from a Secret", "{fieldRef: {fieldPath: spec.nodeName}}", "{secretKeyRef: {name: s, key: k}}", "variable NODE_NAME: there is no Secret gpu/s"},
		{"variables from a ConfigMap", "env:\n", "envFrom: [{configMapRef: {name: other}}]\n          env:\n", "envFrom: there is no ConfigMap gpu/other"},
		{"variable twice", "env:\n", "env:\n            - {name: NODE_NAME, value: a}\n", "sets NODE_NAME twice"},
		{"account", "serviceAccountName: podgpu", "serviceAccountName: other", "there is no ServiceAccount gpu/other"},
		{"pull secret", "serviceAccountName: podgpu", "serviceAccountName: podgpu\n      imagePullSecrets: [{name: pull}]", "there is no Secret gpu/pull"},
		{"runtime class", "serviceAccountName: podgpu", "serviceAccountName: podgpu\n      runtimeClassName: nvidia", "there is no RuntimeClass nvidia"},
		{"priority class", "serviceAccountName: podgpu", "serviceAccountName: podgpu\n      priorityClassName: high", "there is no PriorityClass high"},
		{"empty affinity", "serviceAccountName: podgpu", "serviceAccountName: podgpu\n      affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: []}}}", "matches no node"},
		{"pod security", "enforce: privileged", "enforce: baseline", "uses the host"},
		{"Service selector", "selector: {app: podgpu}\n  ports", "selector: {app: other}\n  ports", "which no pod of gpu has"},
		{"Service port", "port: 9400, targetPort: metrics", "port: 9400, targetPort: http", "leads to http"},
		{"Service port number", "port: 9400, targetPort: metrics", "port: 9500", "leads to 9500"},
		{"Service port names", "[{name: metrics, port: 9400, targetPort: metrics}]", "[{name: metrics, port: 9400}, {port: 9401, targetPort: metrics}]", "a name of its own for each port"},
		{"monitor selector", "selector: {matchLabels: {app: podgpu}}\n  endpoints", "selector: {matchLabels: {app: other}}\n  endpoints", "selects no Service"},
		{"monitor namespace", "selector: {matchLabels: {app: podgpu}}\n  endpoints", "namespaceSelector: {matchNames: [other]}\n  selector: {matchLabels: {app: podgpu}}\n  endpoints", "selects no Service"},
		{"monitor of two Services", "apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor", "apiVersion: v1\nkind: Service\nmetadata: {name: nodes, namespace: gpu, labels: {app: podgpu}}\nspec: {clusterIP: None, selector: {app: podgpu}, ports: [{name: metrics, port: 9400}]}\n---\napiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor", "selects Service gpu/podgpu and Service gpu/nodes, which both lead to DaemonSet gpu/podgpu"},
		{"monitor port", "endpoints: [{port: metrics,", "endpoints: [{port: http,", "is no port name"},
		{"monitor path", "path: /metrics,", "path: /numbers,", "scrapes /numbers"},
		{"monitor time", "scrapeTimeout: 10s", "scrapeTimeout: 20s", "is above interval"},
		{"pod monitor selector", "selector: {matchLabels: {app: podgpu}}\n  podMetrics", "selector: {matchLabels: {app: other}}\n  podMetrics", "PodMonitor gpu/podgpu: selects no pod"},
		{"pod monitor port", "podMetricsEndpoints: [{port: metrics}]", "podMetricsEndpoints: [{port: http}]", "is no port of DaemonSet"},
		{"policy selector", "podSelector: {matchLabels: {app: podgpu}}", "podSelector: {matchLabels: {app: other}}", "NetworkPolicy gpu/podgpu: selects no pod"},
		{"policy port", "ingress: [{ports: [{port: metrics}]}]", "ingress: [{ports: [{port: 1}]}]", "allows port 1"},
		{"budget selector", "minAvailable: 1, selector: {matchLabels: {app: podgpu}}", "minAvailable: 1, selector: {matchLabels: {app: other}}", "PodDisruptionBudget gpu/podgpu: selects no pod"},
		{"budget twice", "minAvailable: 1,", "minAvailable: 1, maxUnavailable: 1,", "both minAvailable and maxUnavailable"},
		{"route", "to: {kind: Service, name: podgpu}", "to: {kind: Service, name: other}", "there is no Service gpu/other"},
		{"route port", "port: {targetPort: metrics}", "port: {targetPort: http}", "is no port of Service"},
		{"ingress", "backend: {service: {name: podgpu,", "backend: {service: {name: other,", "Ingress gpu/podgpu: to: there is no Service gpu/other"},
		{"ingress port", "port: {name: metrics}", "port: {number: 80}", "port 80 is no port of Service"},
		{"constraints' user", "gpu:podgpu\"]", "gpu:other\"]", "which does not exist"},
		{"scaled object", "kind: Deployment, name: llm", "kind: Deployment, name: other", "there is no Deployment gpu/other"},
		{"described object", "kind: Service, name: podgpu}\n        metric", "kind: Service, name: other}\n        metric", "describedObject: there is no Service gpu/other"},
		{"metric", "name: {as: avg_GPU_utilization}", "name: {as: other}", "no rule of prometheus-adapter"},
		{"described Service is not scraped", "kind: ServiceMonitor\nmetadata: {name: podgpu, namespace: gpu}\nspec:\n", "kind: ServiceMonitor\nmetadata: {name: podgpu, namespace: gpu}\nspec:\n  namespaceSelector: {matchNames: [other]}\n", "no ServiceMonitor selects the Service podgpu"},
		{"KEDA target", "scaleTargetRef: {name: llm}", "scaleTargetRef: {name: other}", "there is no Deployment gpu/other"},
		{"KEDA trigger", "query: up, ", "", "lacks query"},
		{"KEDA value", "valueLocation: value, ", "", "its trigger metrics-api lacks valueLocation"},
		{"KEDA Service", "podgpu.gpu.svc", "podgpu.svc", "there is no Service svc/podgpu"},
		{"KEDA port", "svc:9400/api", "svc:9401/api", "port \"9401\" of http://podgpu.gpu.svc:9401/api?a=b is no port of"},
		{"wildcard", "verbs: [list, watch]", "verbs: [\"*\"]", "grants more than a feature needs"},
		{"no rules", "rules:\n  - {apiGroups: [\"\"], resources: [pods], verbs: [list, watch]}", "rules: []", "grants nothing"},
		{"unbound role", "kind: ClusterRole, name: podgpu", "kind: ClusterRole, name: other", "is bound to no account"},
		{"role of a binding", "kind: ClusterRole, name: podgpu", "kind: ClusterRole, name: other", "binds the ClusterRole other"},
		{"subject", "subjects: [{kind: ServiceAccount, name: podgpu, namespace: gpu}]", "subjects: [{kind: ServiceAccount, name: other, namespace: gpu}]", "there is no ServiceAccount gpu/other"},
		{"subject's namespace", "name: podgpu, namespace: gpu}]", "name: podgpu}]", "needs a namespace"},
		{"unused account", account, account + "\n---\napiVersion: v1\nkind: ServiceAccount\nmetadata: {name: idle, namespace: gpu}", "is the account of no pod"},
		{"constraints", "resources: [pods], verbs: [list, watch]", "resources: [securitycontextconstraints], verbs: [use]", "may use every"},
		{"constraints by name", "resources: [pods], verbs: [list, watch]", "resources: [securitycontextconstraints], resourceNames: [lost], verbs: [use]", "there is no SecurityContextConstraints lost"},
		{"flag", "args: [", "args: [--wrong, ", "podgpu refuses its command line: podgpu: unknown flag --wrong"},
		{"address", "args: [", "args: [\"--address=127.0.0.1:9500\", ", "podgpu listens at 127.0.0.1:9500, but no port 9500 is declared"},
		{"address of two words", "args: [", "args: [-a, \":9500\", ", "no port 9500 is declared"},
		{"address of the cluster role", "args: [", "args: [cluster, ", "podgpu listens at :9401"},
		{"address by a variable", "env:\n", "env:\n            - {name: DCGM_EXPORTER_LISTEN, value: \":9500\"}\n", "no port 9500 is declared"},
		{"group twice", "name: alerts, rules", "name: recording, rules", "two groups named recording"},
		{"rule without a name", "{alert: A, expr: b}", "{expr: b}", "a rule has alert \"\" and record \"\""},
		{"unknown field of a rule", "{alert: A, expr: b}", "{alert: A, exp: b}", "unknown field"},
		{"dashboard", "a.json: \"{}\"", "a.json: \"{\"", "a.json is not JSON"},
		{"dashboard with an unknown field", "a.json: \"{}\"", `a.json: '{"schemaVersion": 38, "panels": [], "titel": "Fleet"}'`, "unexpected field 'titel'"},
		{"dashboard with a wrong type", "a.json: \"{}\"", `a.json: '{"schemaVersion": 38, "panels": [{"type": "stat", "title": 5}]}'`, "a.json: panels[0].title"},
		{"dashboard with a wrong option", "a.json: \"{}\"", `a.json: '{"schemaVersion": 38, "panels": [{"type": "stat", "options": {"grafMode": "area"}}]}'`, "unexpected field 'grafMode'"},
		{"dashboard of no version", "a.json: \"{}\"", `a.json: '{"panels": []}'`, "schemaVersion"},
		{"large dashboard", "a.json: \"{}\"", "a.txt: \"" + strings.Repeat("a", 1<<20+1) + "\"", "more than the 1048576 that a cluster accepts"},
		{"variable", "DCGM_EXPORTER_KUBERNETES,", "DCGM_EXPORTER_KUBERNETS,", "does not read the variable DCGM_EXPORTER_KUBERNETS"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			changed := strings.Replace(sound, row.from, row.to, 1)
			if changed == sound {
				t.Fatalf("the sound objects do not contain %q", row.from)
			}
			found := checkText(t, changed)
			if (row.want == "" && found != "") || !strings.Contains(found, row.want) {
				t.Errorf("expected %q, found:\n%s", row.want, found)
			}
		})
	}
}

func TestAcceptsTheMetricsApi(t *testing.T) {
	for _, text := range []string{apis, withCertManager(apis)} {
		if found := checkText(t, text); found != "" {
			t.Error(found)
		}
	}
}

// One object for every check of what the cluster role serves that fails it.
func TestFindsEachDefectOfTheMetricsApi(t *testing.T) {
	rows := []struct {
		name, text, from, to, want string
	}{
		{"unknown field", apis, "groupPriorityMinimum", "groupPriority", "unknown field"},
		{"namespace", apis, "annotations: {}", "namespace: gpu", "remove metadata.namespace"},
		{"port not declared", apis, "=:9443", "=:9444", "no port 9444 is declared"},
		{"Secret of another Certificate", withCertManager(apis), "spec: {secretName: serving", "spec: {secretName: other", "there is no Secret gpu/serving"},
		{"external metric", apis, "name: avg_gpu_utilization", "name: avg_GPU_utilization", "neither podgpu nor"},
		{"metric of pods", apis, "name: gpu_sm_active", "name: gpu_free", "neither podgpu nor"},
		{"metric without its API", apis, "group: custom.metrics.k8s.io", "group: other.metrics.k8s.io", "makes the metric gpu_sm_active"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			changed := strings.Replace(row.text, row.from, row.to, 1)
			if changed == row.text {
				t.Fatalf("the sound objects do not contain %q", row.from)
			}
			if found := checkText(t, changed); !strings.Contains(found, row.want) {
				t.Errorf("expected %q, found:\n%s", row.want, found)
			}
		})
	}
}

func TestAnAccountHasTheRightsOfRolesThatAClusterHas(t *testing.T) {
	set := NewSet("gpu", map[string]bool{})
	set.AddText("all.yaml", []byte(apis))
	found := map[string]bool{}
	for _, grant := range set.grantsOf(set.workloads()[0]) {
		found[grant.Verb+" "+grant.Resource] = true
	}
	if !found["create tokenreviews"] || !found["create subjectaccessreviews"] || !found["patch apiservices"] {
		t.Error(found)
	}
}

func TestMountedFilesAreThoseOfTheConfigMap(t *testing.T) {
	set := NewSet("gpu", map[string]bool{})
	set.AddText("all.yaml", []byte(sound))
	launches, err := (&Launcher{Set: set, Folder: t.TempDir()}).All()
	if err != nil || len(launches) != 1 {
		t.Fatal(launches, err)
	}
	launch := launches[0]
	text, err := os.ReadFile(launch.Arguments[1])
	if err != nil || string(text) != "DCGM_FI_DEV_GPU_TEMP,gauge,Heat.\n" {
		t.Error(launch.Arguments, string(text), err)
	}
	if launch.Variables[1] != "NODE_NAME=node-a" || !launch.HasToken || len(launch.Grants) != 2 {
		t.Error(launch)
	}
}

func TestProgramEndsWithOneForFindings(t *testing.T) {
	if os.Getenv("DEPLOYCHECK_MAIN") != "" {
		os.Args = append([]string{"deploycheck"}, strings.Fields(os.Getenv("DEPLOYCHECK_MAIN"))...)
		main()
		return
	}
	folder := t.TempDir()
	path := filepath.Join(folder, "a.yaml")
	if err := os.WriteFile(path, []byte("apiVersion: v1\nkind: Service\nmetadata: {}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	command := exec.Command(os.Args[0], "-test.run=^TestProgramEndsWithOneForFindings$")
	command.Env = append(os.Environ(), "DEPLOYCHECK_MAIN=-podgpu /bin/true "+path)
	output, err := command.CombinedOutput()
	if command.ProcessState.ExitCode() != 1 || !strings.Contains(string(output), path+": Service: has no metadata.name") {
		t.Error(string(output), err)
	}
}
