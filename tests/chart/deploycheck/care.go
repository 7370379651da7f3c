// Checks of containers that run on: probes, what they need of their node, and the folders into which podgpu writes.
package main

import (
	"strings"

	core "k8s.io/api/core/v1"
)

// checkCare checks that Kubernetes can tell whether a container that runs on works, and what it needs of its node.
func (s *Set) checkCare(w Workload, c core.Container) {
	if w.Selector == nil {
		return // A pod or a job, which ends by itself.
	}
	for _, row := range []struct {
		missing bool
		what    string
	}{
		{c.LivenessProbe == nil, "livenessProbe"},
		{c.ReadinessProbe == nil, "readinessProbe"},
		{c.Resources.Requests.Cpu().IsZero(), "resources.requests.cpu"},
		{c.Resources.Requests.Memory().IsZero(), "resources.requests.memory"},
		{c.Resources.Limits.Memory().IsZero(), "resources.limits.memory"},
	} {
		if row.missing {
			s.reportOn(w.Object, "container %s has no %s; add it", c.Name, row.what)
		}
	}
}

func isLoopback(host string) bool {
	return host == "localhost" || host == "::1" || strings.HasPrefix(host, "127.")
}

// checkTextFiles checks that a folder of the pod into which podgpu writes is closed to others before: an emptyDir is open to all, and
// podgpu writes no file there.
func (s *Set) checkTextFiles(w Workload, c core.Container) {
	for _, word := range c.Args {
		name, path, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
		if !isPodgpu(c) || (name != "textfile-device" && name != "textfile-pod") {
			continue
		}
		for _, m := range c.VolumeMounts {
			if strings.HasPrefix(path, m.MountPath+"/") && isEmptyDir(w.Spec, m.Name) && !isClosed(w.Spec, m.Name) {
				s.reportOn(w.Object, "container %s: --%s is in the emptyDir %s, which all may write; let an init container run chmod 755 on it",
					c.Name, name, m.Name)
			}
		}
	}
}

func isEmptyDir(spec core.PodSpec, volume string) bool {
	for _, v := range spec.Volumes {
		if v.Name == volume {
			return v.EmptyDir != nil
		}
	}
	return false
}

// isClosed says whether an init container runs chmod on the volume.
func isClosed(spec core.PodSpec, volume string) bool {
	for _, c := range spec.InitContainers {
		for _, m := range c.VolumeMounts {
			if m.Name == volume && strings.Join(append(append([]string{}, c.Command...), c.Args...), " ") == "chmod 755 "+m.MountPath {
				return true
			}
		}
	}
	return false
}
