// The ports at which a container's podgpu listens, from its arguments and variables.
package main

import (
	"fmt"
	"strings"

	core "k8s.io/api/core/v1"
)

// A setting is a flag with its other names, its variable and its default.
type setting struct {
	names    []string
	variable string
	fallback string
}

var listenSettings = map[string][]setting{
	"node":    {{[]string{"address", "a", "listen-address"}, "DCGM_EXPORTER_LISTEN", ":9400"}},
	"cluster": {{[]string{"address", "a"}, "PODGPU_CLUSTER_LISTEN", ":9401"}, {[]string{"in-use-listen"}, "PODGPU_IN_USE_LISTEN", ""}, metricsListen},
}

var metricsListen = setting{[]string{"metrics-api-listen"}, "PODGPU_METRICS_API_LISTEN", ""}

// valueOf is the value of a setting: the last flag, otherwise the variable, otherwise the default.
func (l Launch) valueOf(s setting) string {
	value := s.fallback
	for _, variable := range l.Variables {
		if text, ok := strings.CutPrefix(variable, s.variable+"="); ok && text != "" {
			value = text
		}
	}
	for i, argument := range l.Arguments {
		name, text, hasText := strings.Cut(strings.TrimLeft(argument, "-"), "=")
		for _, known := range s.names {
			if !strings.HasPrefix(argument, "-") || name != known {
				continue
			}
			if hasText {
				value = text
			} else if i+1 < len(l.Arguments) {
				value = l.Arguments[i+1]
			}
		}
	}
	return value
}

// checkListening checks that the container declares the ports at which podgpu listens.
func (s *Set) checkListening(launch Launch, c core.Container) {
	for _, argument := range launch.Arguments {
		if argument == "--validate" {
			return // It listens at no port.
		}
	}
	declared := map[string]bool{}
	for _, p := range c.Ports {
		declared[fmt.Sprint(p.ContainerPort)] = true
	}
	for _, setting := range listenSettings[launch.Role] {
		address := launch.valueOf(setting)
		if address == "" || strings.HasPrefix(address, "unix:") {
			continue
		}
		if port := address[strings.LastIndex(address, ":")+1:]; !declared[port] {
			s.report(launch.File, launch.Object, fmt.Sprintf("container %s: podgpu listens at %s, but no port %s is declared; correct --%s or ports",
				launch.Container, address, port, setting.names[0]))
		} else {
			s.checkProbedAddress(launch, c, address[:len(address)-len(port)-1], port)
		}
	}
}

// checkProbedAddress checks that probes ask the loopback address where podgpu listens there alone: the kubelet asks the pod's own.
func (s *Set) checkProbedAddress(launch Launch, c core.Container, host, port string) {
	if !isLoopback(strings.Trim(host, "[]")) {
		return
	}
	for what, probe := range map[string]*core.Probe{"livenessProbe": c.LivenessProbe, "readinessProbe": c.ReadinessProbe} {
		if probe == nil || probe.HTTPGet == nil || isLoopback(probe.HTTPGet.Host) {
			continue
		}
		_, asked := portOf(core.PodSpec{Containers: []core.Container{c}}, probe.HTTPGet.Port)
		if asked != nil && fmt.Sprint(asked.ContainerPort) == port {
			s.report(launch.File, launch.Object, fmt.Sprintf("container %s: podgpu listens at %s:%s, but its %s asks the pod's address; add host: %s",
				launch.Container, host, port, what, host))
		}
	}
}
