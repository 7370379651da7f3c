// Finds container and pod of a process in the text of /proc/PID/cgroup.
//
// Knows the paths that kubelet, containerd, CRI-O, Docker, Podman and Kata make: cgroup v1 and v2,
// either cgroup driver, any cgroup root, and paths seen from a private cgroup namespace
// ("/../../..."), where the common part is missing and perhaps only the container is known. Returns
// the outermost pod and the first container in it, which are those that the kubelet of this node
// knows. The path does not contain the container's name. Based on the sources of those programs as
// of 2026-08. Pure.
#pragma once

#include <string>
#include <string_view>

namespace podgpu {

struct CgroupPlace {
  std::string pod_uid;       // A UUID, or 32 hexadecimal digits for a static pod; empty: none.
  std::string container_id;  // 64 hexadecimal digits; with Kata and gVisor, the id of the sandbox.
  bool operator==(const CgroupPlace&) const = default;
};

// Returns the best result of all lines: a pod with its container, else a pod, else a container. On
// hosts that mix v1 and v2 only some lines contain either.
CgroupPlace ParseCgroup(std::string_view text);

}  // namespace podgpu
