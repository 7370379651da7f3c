// Checks of workloads: labels, ports, probes, volumes and references.
package main

import (
	"strings"

	core "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

func (s *Set) checkWorkloads() {
	for _, w := range s.workloads() {
		s.checkOwnSelector(w)
		s.checkPorts(w)
		s.checkVolumes(w)
		s.checkPodReferences(w)
		s.checkPodSecurity(w)
		for _, c := range w.Spec.Containers {
			s.checkCare(w, c)
			s.checkTextFiles(w, c)
		}
		for _, c := range containersOf(w.Spec) {
			s.checkMounts(w, c)
			s.checkEnvironment(w, c)
			for what, probe := range map[string]*core.Probe{"livenessProbe": c.LivenessProbe,
				"readinessProbe": c.ReadinessProbe, "startupProbe": c.StartupProbe} {
				s.checkProbe(w, c, what, probe)
			}
		}
	}
}

func (s *Set) checkOwnSelector(w Workload) {
	if w.Selector == nil {
		return
	}
	selector, err := metav1.LabelSelectorAsSelector(w.Selector)
	switch {
	case err != nil:
		s.reportOn(w.Object, "has a selector that is not valid: %v", err)
	case selector.Empty():
		s.reportOn(w.Object, "has an empty selector; name the labels of its pods")
	case !selector.Matches(labels.Set(w.Labels)):
		s.reportOn(w.Object, "selects %s, but its pods have %s; make them equal", selector, labels.Set(w.Labels))
	}
}

func (s *Set) checkPorts(w Workload) {
	names := map[string]bool{}
	for _, c := range w.Spec.Containers {
		for _, p := range c.Ports {
			if p.Name != "" && names[p.Name] {
				s.reportOn(w.Object, "has two ports named %q; rename one", p.Name)
			}
			names[p.Name] = true
			if w.Spec.HostNetwork && p.HostPort != 0 && p.HostPort != p.ContainerPort {
				s.reportOn(w.Object, "port %q: with hostNetwork, hostPort must equal containerPort", p.Name)
			}
		}
	}
}

func (s *Set) checkProbe(w Workload, c core.Container, what string, probe *core.Probe) {
	if probe == nil || probe.HTTPGet == nil {
		return
	}
	get := probe.HTTPGet
	if owner, _ := portOf(core.PodSpec{Containers: []core.Container{c}}, get.Port); owner == nil {
		s.reportOn(w.Object, "container %s: %s asks port %s, which the container does not declare; use one of its ports",
			c.Name, what, get.Port.String())
	}
	if isLoopback(get.Host) && !w.Spec.HostNetwork {
		s.reportOn(w.Object, "container %s: %s asks %s, which is the node's own without hostNetwork; remove host", c.Name, what, get.Host)
	}
	if path, _, _ := strings.Cut(get.Path, "?"); isPodgpu(c) && !servedPaths[roleOf(c)][path] {
		s.reportOn(w.Object, "container %s: %s asks %s, which podgpu does not serve; use /healthz or /readyz",
			c.Name, what, get.Path)
	}
}

func (s *Set) checkVolumes(w Workload) {
	used := map[string]bool{}
	for _, c := range containersOf(w.Spec) {
		for _, m := range c.VolumeMounts {
			used[m.Name] = true
		}
	}
	seen := map[string]bool{}
	for _, v := range w.Spec.Volumes {
		if seen[v.Name] {
			s.reportOn(w.Object, "has two volumes named %q; rename one", v.Name)
		}
		seen[v.Name] = true
		if !used[v.Name] {
			s.reportOn(w.Object, "volume %q is mounted nowhere; mount or remove it", v.Name)
		}
		s.checkVolumeSource(w, v)
	}
}

func (s *Set) checkVolumeSource(w Workload, v core.Volume) {
	what := "volume " + v.Name
	if m := v.ConfigMap; m != nil {
		s.checkKeys(w, what, "ConfigMap", m.Name, m.Optional, itemKeys(m.Items))
	}
	if m := v.Secret; m != nil {
		s.checkKeys(w, what, "Secret", m.SecretName, m.Optional, itemKeys(m.Items))
	}
	if v.PersistentVolumeClaim != nil {
		s.checkReference(w, what, "PersistentVolumeClaim", v.PersistentVolumeClaim.ClaimName)
	}
	if v.Projected != nil {
		for _, source := range v.Projected.Sources {
			if m := source.ConfigMap; m != nil {
				s.checkKeys(w, what, "ConfigMap", m.Name, m.Optional, itemKeys(m.Items))
			}
			if m := source.Secret; m != nil {
				s.checkKeys(w, what, "Secret", m.Name, m.Optional, itemKeys(m.Items))
			}
		}
	}
}

func itemKeys(items []core.KeyToPath) []string {
	var keys []string
	for _, item := range items {
		keys = append(keys, item.Key)
	}
	return keys
}

func (s *Set) checkReference(w Workload, what, kind, name string) bool {
	if s.Has(kind, w.Meta.GetNamespace(), name) {
		return true
	}
	s.reportOn(w.Object, "%s: there is no %s %s/%s; add it, or declare it as external", what, kind, w.Meta.GetNamespace(), name)
	return false
}

// checkKeys checks that a ConfigMap or Secret exists and has these keys.
func (s *Set) checkKeys(w Workload, what, kind, name string, optional *bool, keys []string) {
	if optional != nil && *optional {
		return
	}
	if !s.checkReference(w, what, kind, name) {
		return
	}
	o := s.Find(kind, w.Meta.GetNamespace(), name)
	if o == nil {
		return
	}
	content := contentOf(o)
	for _, k := range keys {
		if _, ok := content[k]; !ok {
			s.reportOn(w.Object, "%s: %s has no key %q; add the key, or name another one", what, o.Name(), k)
		}
	}
}

// contentOf is what a ConfigMap or Secret holds.
func contentOf(o *Object) map[string][]byte {
	content := map[string][]byte{}
	switch body := o.Body.(type) {
	case *core.ConfigMap:
		for k, v := range body.Data {
			content[k] = []byte(v)
		}
		for k, v := range body.BinaryData {
			content[k] = v
		}
	case *core.Secret:
		for k, v := range body.Data {
			content[k] = v
		}
		for k, v := range body.StringData {
			content[k] = []byte(v)
		}
	}
	return content
}

func (s *Set) checkMounts(w Workload, c core.Container) {
	volumes := map[string]core.Volume{}
	for _, v := range w.Spec.Volumes {
		volumes[v.Name] = v
	}
	at := map[string]bool{}
	for _, m := range c.VolumeMounts {
		v, ok := volumes[m.Name]
		if !ok {
			s.reportOn(w.Object, "container %s mounts the volume %q, which the pod does not have; add it to volumes", c.Name, m.Name)
		}
		if at[m.MountPath] {
			s.reportOn(w.Object, "container %s mounts two volumes at %s; move one", c.Name, m.MountPath)
		}
		at[m.MountPath] = true
		if m.SubPath != "" && v.ConfigMap != nil && len(v.ConfigMap.Items) == 0 {
			s.checkKeys(w, "mount "+m.MountPath, "ConfigMap", v.ConfigMap.Name, v.ConfigMap.Optional, []string{m.SubPath})
		}
	}
}

func (s *Set) checkEnvironment(w Workload, c core.Container) {
	seen := map[string]bool{}
	for _, e := range c.Env {
		if seen[e.Name] {
			s.reportOn(w.Object, "container %s sets %s twice; remove one", c.Name, e.Name)
		}
		seen[e.Name] = true
		if e.ValueFrom == nil {
			continue
		}
		if r := e.ValueFrom.ConfigMapKeyRef; r != nil {
			s.checkKeys(w, "variable "+e.Name, "ConfigMap", r.Name, r.Optional, []string{r.Key})
		}
		if r := e.ValueFrom.SecretKeyRef; r != nil {
			s.checkKeys(w, "variable "+e.Name, "Secret", r.Name, r.Optional, []string{r.Key})
		}
	}
	for _, e := range c.EnvFrom {
		if e.ConfigMapRef != nil {
			s.checkKeys(w, "envFrom", "ConfigMap", e.ConfigMapRef.Name, e.ConfigMapRef.Optional, nil)
		}
		if e.SecretRef != nil {
			s.checkKeys(w, "envFrom", "Secret", e.SecretRef.Name, e.SecretRef.Optional, nil)
		}
	}
}

func (s *Set) checkPodReferences(w Workload) {
	if name := w.Spec.ServiceAccountName; name != "" && name != "default" {
		s.checkReference(w, "serviceAccountName", "ServiceAccount", name)
	}
	for _, secret := range w.Spec.ImagePullSecrets {
		s.checkReference(w, "imagePullSecrets", "Secret", secret.Name)
	}
	if name := w.Spec.RuntimeClassName; name != nil && !s.Has("RuntimeClass", "", *name) {
		s.reportOn(w.Object, "there is no RuntimeClass %s; add it, or declare it as external", *name)
	}
	if name := w.Spec.PriorityClassName; name != "" && !strings.HasPrefix(name, "system-") && !s.Has("PriorityClass", "", name) {
		s.reportOn(w.Object, "there is no PriorityClass %s; add it, or declare it as external", name)
	}
	if affinity := w.Spec.Affinity; affinity != nil && affinity.NodeAffinity != nil &&
		affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil &&
		len(affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms) == 0 {
		s.reportOn(w.Object, "its node affinity has no term and matches no node; add one")
	}
}

// Pods that use the host need a namespace whose Pod Security level is privileged.
func (s *Set) checkPodSecurity(w Workload) {
	namespace := s.Find("Namespace", "", w.Meta.GetNamespace())
	if namespace == nil || namespace.Meta.GetLabels()["pod-security.kubernetes.io/enforce"] == "privileged" {
		return
	}
	uses := w.Spec.HostNetwork || w.Spec.HostPID
	for _, v := range w.Spec.Volumes {
		uses = uses || v.HostPath != nil
	}
	for _, c := range containersOf(w.Spec) {
		uses = uses || (c.SecurityContext != nil && c.SecurityContext.Privileged != nil && *c.SecurityContext.Privileged)
		for _, p := range c.Ports {
			uses = uses || p.HostPort != 0
		}
	}
	if uses {
		s.reportOn(w.Object, "uses the host, but %s is not labelled for it; add pod-security.kubernetes.io/enforce: privileged there",
			namespace.Name())
	}
}

func (s *Set) checkServices() {
	All(s, func(o Object, service *core.Service) {
		names := map[string]bool{}
		for _, p := range service.Spec.Ports {
			if names[p.Name] || (p.Name == "" && len(service.Spec.Ports) > 1) {
				s.reportOn(o, "needs a name of its own for each port; %q is missing or repeated", p.Name)
			}
			names[p.Name] = true
		}
		if len(service.Spec.Selector) == 0 {
			return
		}
		pods := s.selected(o.Meta.GetNamespace(), labels.SelectorFromSet(service.Spec.Selector))
		if len(pods) == 0 {
			s.reportOn(o, "selects %s, which no pod of %s has; use the labels of the pods",
				labels.Set(service.Spec.Selector), o.Meta.GetNamespace())
		}
		for _, w := range pods {
			for _, p := range service.Spec.Ports {
				if target := targetOf(p); !hasPort(w, target) {
					s.reportOn(o, "port %q leads to %s, which %s does not have; use a port of its containers", p.Name, target.String(), w.Name())
				}
			}
		}
	})
}

func hasPort(w Workload, port intstr.IntOrString) bool {
	c, _ := portOf(w.Spec, port)
	return c != nil
}
