// From the text of /proc/PID/cgroup to the container and the pod that the process is in.
//
// Knows the paths that kubelet, containerd, CRI-O, Docker, Podman and Kata make, on cgroup v1 and
// v2, with either driver, below any cgroup root, and as seen from a private cgroup namespace
// ("/../../..."), where the common part is lost: then only the container may be known.  What it
// finds is what the kubelet of this node knows: the outermost pod, and the first container in it.
// A container's name is not in there.  Facts: sources of those programs as of 2026-08.  Pure.
#pragma once

#include <string>
#include <string_view>

namespace podgpu {

struct CgroupPlace {
  std::string pod_uid;       // A UUID, or 32 hexadecimal digits for a static pod; empty: none.
  std::string container_id;  // 64 hexadecimal digits; of Kata and gVisor, the sandbox's.
  bool operator==(const CgroupPlace&) const = default;
};

// The best that any line says: a pod with its container before a pod, before a container.  On
// hosts that mix v1 and v2 only some lines tell.
CgroupPlace ParseCgroup(std::string_view text);

}  // namespace podgpu
