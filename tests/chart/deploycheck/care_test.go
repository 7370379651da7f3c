package main

import (
	"strings"
	"testing"
)

func TestFindsContainersWithoutProbesOrResources(t *testing.T) {
	rows := []struct{ name, from, to, want string }{
		{"probe of the node", "hostNetwork: true\n      containers:\n        - name: exporter\n          image: registry.example/podgpu:1", "containers:\n        - name: exporter\n          image: registry.example/podgpu:1\n          startupProbe: {httpGet: {host: 127.0.0.1, path: /healthz, port: metrics}}", "which is the node's own without hostNetwork"},
		{"probe of another address", "args: [", "args: [\"--address=127.0.0.1:9400\", ", "its livenessProbe asks the pod's address; add host: 127.0.0.1"},
		{"no liveness", "          livenessProbe: {httpGet: {path: /healthz, port: metrics}}\n", "", "container exporter has no livenessProbe; add it"},
		{"no readiness", "          readinessProbe: {httpGet: {path: /readyz, port: metrics}}\n", "", "container exporter has no readinessProbe; add it"},
		{"no resources", "resources: {requests: {cpu: 10m, memory: 32Mi}, limits: {memory: 64Mi}}", "resources: {}", "container exporter has no resources.requests.memory; add it"},
		{"no limit", ", limits: {memory: 64Mi}", "", "container exporter has no resources.limits.memory; add it"},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			changed := strings.Replace(sound, row.from, row.to, 1)
			if changed == sound {
				t.Fatalf("the sound objects do not contain %q", row.from)
			}
			if found := checkText(t, changed); !strings.Contains(found, row.want) {
				t.Errorf("expected %q, found:\n%s", row.want, found)
			}
		})
	}
}

// podgpu writes no file into a folder that others may write, as an emptyDir is until an init container closes it.
func TestATextFileNeedsAFolderThatIsClosed(t *testing.T) {
	const finding = "container exporter: --textfile-pod is in the emptyDir counters, which all may write"
	open := strings.NewReplacer("args: [", "args: [\"--textfile-pod=/etc/podgpu/page.prom\", ",
		"configMap: {name: counters}", "emptyDir: {}").Replace(sound)
	if found := checkText(t, open); !strings.Contains(found, finding) {
		t.Error(found)
	}
	closed := strings.Replace(open, "      containers:", `      initContainers:
        - {name: folder, image: busybox, command: [chmod, "755", /etc/podgpu], volumeMounts: [{name: counters, mountPath: /etc/podgpu}]}
      containers:`, 1)
	if found := checkText(t, closed); strings.Contains(found, finding) {
		t.Error(found)
	}
}
