// The command lines of podgpu's containers, with the real program.
package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	core "k8s.io/api/core/v1"
)

// Launch is how a container starts podgpu, with its mounted files on this machine.
type Launch struct {
	File      string   `json:"file"`
	Object    string   `json:"object"`
	Namespace string   `json:"namespace"`
	Container string   `json:"container"`
	IsInit    bool     `json:"is_init"`
	Role      string   `json:"role"`
	Name      string   `json:"name"` // The name by which the program is called.
	Arguments []string `json:"arguments"`
	Variables []string `json:"variables"` // "NAME=value"
	HostPaths []Mount  `json:"host_paths"`
	Probes    []Probe  `json:"probes"`
	HasToken  bool     `json:"has_token"`
	HostPID   bool     `json:"host_pid"`
	Grants    []Grant  `json:"grants"`
}

// Mount is a folder of the host and its place in the container.
type Mount struct {
	Host string `json:"host"`
	Path string `json:"path"`
}

// Probe is a request of the kubelet.
type Probe struct {
	Path string `json:"path"`
	Port string `json:"port"` // The number of the container's port.
}

// Launcher materializes launches in a folder.
type Launcher struct {
	Set        *Set
	Folder     string
	ImageFiles string // A folder with the files of the image under /etc/dcgm-exporter.
	volumes    int
}

const imageFolder = "/etc/dcgm-exporter"

// All makes a launch for every container that runs podgpu.
func (l *Launcher) All() ([]Launch, error) {
	launches := []Launch{}
	for _, w := range l.Set.workloads() {
		for i, c := range containersOf(w.Spec) {
			if !isPodgpu(c) {
				continue
			}
			launch, err := l.of(w, c)
			if err != nil {
				return nil, err
			}
			launch.IsInit = i < len(w.Spec.InitContainers)
			l.Set.checkListening(launch, c)
			launches = append(launches, launch)
		}
	}
	return launches, nil
}

func (l *Launcher) of(w Workload, c core.Container) (Launch, error) {
	launch := Launch{File: w.File, Object: w.Name(), Namespace: w.Meta.GetNamespace(), Container: c.Name,
		Role: roleOf(c), Name: "podgpu", HostPaths: []Mount{}, Probes: []Probe{}, HostPID: w.Spec.HostPID,
		HasToken: l.hasToken(w), Grants: l.Set.grantsOf(w)}
	places, err := l.materialize(w, c, &launch)
	if err != nil {
		return launch, err
	}
	values := l.variables(w, c, &launch, places)
	words := append([]string{}, c.Command...)
	words = append(words, c.Args...)
	if len(c.Command) > 0 {
		launch.Name = filepath.Base(words[0])
		words = words[1:]
	}
	launch.Arguments = []string{}
	for _, word := range words {
		launch.Arguments = append(launch.Arguments, relocate(expand(word, values), places))
	}
	for _, probe := range []*core.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
		if probe == nil || probe.HTTPGet == nil {
			continue
		}
		if _, port := portOf(core.PodSpec{Containers: []core.Container{c}}, probe.HTTPGet.Port); port != nil {
			launch.Probes = append(launch.Probes, Probe{probe.HTTPGet.Path, fmt.Sprint(port.ContainerPort)})
		}
	}
	return launch, nil
}

// hasToken says whether Kubernetes mounts the token of the account.
func (l *Launcher) hasToken(w Workload) bool {
	if w.Spec.AutomountServiceAccountToken != nil {
		return *w.Spec.AutomountServiceAccountToken
	}
	if o := l.Set.Find("ServiceAccount", w.Meta.GetNamespace(), w.Spec.ServiceAccountName); o != nil {
		account := o.Body.(*core.ServiceAccount)
		return account.AutomountServiceAccountToken == nil || *account.AutomountServiceAccountToken
	}
	return true
}

// materialize writes the mounted ConfigMaps and Secrets; returns the container's paths and those on this machine.
func (l *Launcher) materialize(w Workload, c core.Container, launch *Launch) (map[string]string, error) {
	places := map[string]string{}
	if l.ImageFiles != "" {
		places[imageFolder] = l.ImageFiles
	}
	folders := map[string]map[string][]byte{}
	for _, m := range c.VolumeMounts {
		for _, v := range w.Spec.Volumes {
			if v.Name != m.Name {
				continue
			}
			if v.HostPath != nil {
				launch.HostPaths = append(launch.HostPaths, Mount{v.HostPath.Path, m.MountPath})
			} else if files := l.filesOf(w, v); files != nil {
				l.volumes++
				folder := filepath.Join(l.Folder, "volumes", fmt.Sprint(l.volumes))
				folders[folder] = files
				places[m.MountPath] = filepath.Join(folder, m.SubPath)
			}
		}
	}
	for folder, files := range folders {
		if err := writeFiles(folder, files, places); err != nil {
			return nil, err
		}
	}
	return places, nil
}

// filesOf are the files of a volume made of ConfigMaps and Secrets; null for other volumes.
func (l *Launcher) filesOf(w Workload, v core.Volume) map[string][]byte {
	namespace := w.Meta.GetNamespace()
	switch {
	case v.ConfigMap != nil:
		return l.picked("ConfigMap", namespace, v.ConfigMap.Name, v.ConfigMap.Items)
	case v.Secret != nil:
		return l.picked("Secret", namespace, v.Secret.SecretName, v.Secret.Items)
	case v.Projected != nil:
		files := map[string][]byte{}
		for _, source := range v.Projected.Sources {
			if m := source.ConfigMap; m != nil {
				for k, text := range l.picked("ConfigMap", namespace, m.Name, m.Items) {
					files[k] = text
				}
			}
			if m := source.Secret; m != nil {
				for k, text := range l.picked("Secret", namespace, m.Name, m.Items) {
					files[k] = text
				}
			}
		}
		return files
	}
	return nil
}

func (l *Launcher) picked(kind, namespace, name string, items []core.KeyToPath) map[string][]byte {
	content := map[string][]byte{}
	if o := l.Set.Find(kind, namespace, name); o != nil {
		content = contentOf(o)
	} else if kind == "Secret" {
		content = sampleSecret()
	}
	if len(items) == 0 {
		return content
	}
	files := map[string][]byte{}
	for _, item := range items {
		files[item.Path] = content[item.Key]
	}
	return files
}

// writeFiles writes files whose text names paths of the container; they name those of this machine then.
func writeFiles(folder string, files map[string][]byte, places map[string]string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for name, text := range files {
		for place, here := range places {
			text = bytes.ReplaceAll(text, []byte(strings.TrimSuffix(place, "/")+"/"), []byte(here+"/"))
		}
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// What the kubelet fills into fields of the pod.
var podFields = map[string]string{"spec.nodeName": "node-a", "status.hostIP": "127.0.0.1", "status.podIP": "127.0.0.1",
	"metadata.name": "pod-a", "metadata.namespace": "gpu", "metadata.uid": "0d5bc1f4-5b0e-4f0a-9e7e-0b7c2f8b2f11"}

func (l *Launcher) variables(w Workload, c core.Container, launch *Launch, places map[string]string) map[string]string {
	values := map[string]string{}
	launch.Variables = []string{}
	for _, e := range c.Env {
		value := expand(e.Value, values)
		if from := e.ValueFrom; from != nil {
			switch {
			case from.FieldRef != nil:
				value = podFields[from.FieldRef.FieldPath]
			case from.ConfigMapKeyRef != nil:
				value = string(l.picked("ConfigMap", w.Meta.GetNamespace(), from.ConfigMapKeyRef.Name, nil)[from.ConfigMapKeyRef.Key])
			case from.SecretKeyRef != nil:
				value = string(l.picked("Secret", w.Meta.GetNamespace(), from.SecretKeyRef.Name, nil)[from.SecretKeyRef.Key])
			}
		}
		values[e.Name] = value
		launch.Variables = append(launch.Variables, e.Name+"="+relocate(value, places))
	}
	return values
}

var reference = regexp.MustCompile(`\$\(([A-Za-z_][A-Za-z0-9_.-]*)\)`)

// expand replaces $(NAME) as the kubelet does.
func expand(text string, values map[string]string) string {
	return reference.ReplaceAllStringFunc(text, func(found string) string {
		if value, ok := values[found[2:len(found)-1]]; ok {
			return value
		}
		return found
	})
}

// relocate replaces the longest path of the container at the beginning of the text, or after its "=", by that on this machine.
func relocate(text string, places map[string]string) string {
	name, value, hasName := strings.Cut(text, "=")
	if !hasName {
		name, value = "", text
	} else {
		name += "="
	}
	best := ""
	for place := range places {
		inside := value == place || strings.HasPrefix(value, strings.TrimSuffix(place, "/")+"/")
		if inside && len(place) > len(best) {
			best = place
		}
	}
	if best == "" || (best == imageFolder && !exists(places[best]+value[len(best):])) {
		return text
	}
	return name + places[best] + value[len(best):]
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Variables that podgpu or its runtime read without a flag.
var otherVariables = regexp.MustCompile(`^(NODE_NAME|HOST_IP|POD_NAME|POD_NAMESPACE|POD_UID|KUBERNETES_SERVICE_.*|NVIDIA_.*|LD_LIBRARY_PATH|TZ|HOSTNAME)$`)

// Validate runs the program on the launch and reports what it refuses.
func (s *Set) Validate(launch Launch, podgpu string) {
	last := "--validate"
	if launch.Role != "node" {
		last = "--help"
	}
	output, err := runAs(podgpu, launch.Name, append(append([]string{}, launch.Arguments...), last), launch.Variables)
	if err != nil {
		s.report(launch.File, launch.Object, fmt.Sprintf("container %s: podgpu refuses its command line: %s",
			launch.Container, strings.TrimSpace(output)))
	}
	help, _ := runAs(podgpu, "podgpu", []string{"--help=all"}, nil)
	if launch.Role != "node" {
		ofRole, _ := runAs(podgpu, "podgpu", []string{launch.Role, "--help"}, nil)
		if launch.Role == "doctor" {
			help += ofRole // It takes the flags and variables of a node too.
		} else {
			help = ofRole
		}
	}
	for _, variable := range launch.Variables {
		name, _, _ := strings.Cut(variable, "=")
		if !s.external["Variable "+name] && !otherVariables.MatchString(name) && !regexp.MustCompile(`\b`+regexp.QuoteMeta(name)+`\b`).MatchString(help) {
			s.report(launch.File, launch.Object, fmt.Sprintf("container %s: podgpu %s does not read the variable %s; remove it, or correct its name",
				launch.Container, launch.Role, name))
		}
	}
}

func runAs(program, name string, arguments, variables []string) (string, error) {
	command := exec.Cmd{Path: program, Args: append([]string{name}, arguments...), Env: append([]string{"PATH=/usr/bin:/bin"}, variables...)}
	output, err := command.CombinedOutput()
	return string(output), err
}
