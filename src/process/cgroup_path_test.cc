#include "process/cgroup_path.h"

#include <string>
#include <utility>

#include <gtest/gtest.h>

namespace podgpu {
namespace {

// The placeholders in the rows below.
const std::string kUid = "0cc175b9-c0f1-46a8-a1c3-99e269772661";         // <d>, with dashes
const std::string kUidOfSlice = "0cc175b9_c0f1_46a8_a1c3_99e269772661";  // <u>
const std::string kStaticUid = "a81259cef8e959c624df1d456e5d3297";       // <s>
const std::string kId =                                                  // <c>
    "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb";
const std::string kOtherId =  // <o>
    "3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d";

std::string Filled(std::string line) {
  const std::pair<std::string, std::string> words[] = {
      {"<d>", kUid}, {"<u>", kUidOfSlice}, {"<s>", kStaticUid}, {"<c>", kId}, {"<o>", kOtherId}};
  for (const auto& [mark, word] : words) {
    for (size_t at = line.find(mark); at != std::string::npos; at = line.find(mark)) {
      line.replace(at, mark.size(), word);
    }
  }
  return line;
}

constexpr const char* kBoth = "d c";
constexpr const char* kStatic = "s c";
constexpr const char* kPodOnly = "d -";
constexpr const char* kContainerOnly = "- c";
constexpr const char* kNothing = "- -";

CgroupPlace Expected(const std::string& what) {
  CgroupPlace place;
  place.pod_uid = what[0] == 'd' ? kUid : what[0] == 's' ? kStaticUid : "";
  place.container_id = what[2] == 'c' ? kId : "";
  return place;
}

struct Line {
  const char* label;
  const char* text;
  const char* found;
};
constexpr Line kLines[] = {
    {"1: v2, systemd driver, containerd, Burstable",
     "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod<u>.slice/"
     "cri-containerd-<c>.scope",
     kBoth},
    {"2: BestEffort",
     "0::/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod<u>.slice/"
     "cri-containerd-<c>.scope",
     kBoth},
    {"3: Guaranteed has no level of its own",
     "0::/kubepods.slice/kubepods-pod<u>.slice/cri-containerd-<c>.scope", kBoth},
    {"4: cgroupfs driver", "0::/kubepods/burstable/pod<d>/<c>", kBoth},
    {"5: cgroupfs driver, Guaranteed", "0::/kubepods/pod<d>/<c>", kBoth},
    {"6: CRI-O with runc",
     "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod<u>.slice/crio-<c>.scope",
     kBoth},
    {"7: CRI-O with crun has one more below",
     "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod<u>.slice/"
     "crio-<c>.scope/container",
     kBoth},
    {"8: cri-dockerd, systemd driver",
     "0::/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod<u>.slice/"
     "docker-<c>.scope",
     kBoth},
    {"9: v1, cgroupfs driver", "11:memory:/kubepods/besteffort/pod<d>/<c>", kBoth},
    {"10: a comma in the controllers",
     "4:cpu,cpuacct:/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod<u>.slice/"
     "docker-<c>.scope",
     kBoth},
    {"11: a named hierarchy",
     "1:name=systemd:/kubepods.slice/kubepods-pod<u>.slice/cri-containerd-<c>.scope", kBoth},
    {"12: v1, CRI-O with cgroupfs", "5:devices:/kubepods/burstable/pod<d>/crio-<c>", kBoth},
    {"13: drivers that do not match: colons in the path",
     "10:blkio:/system.slice/containerd.service/kubepods-besteffort-pod<u>.slice:"
     "cri-containerd:<c>",
     kBoth},
    {"14: the same, nothing before",
     "8:cpuset:/kubepods-besteffort-pod<u>.slice:cri-containerd:<c>", kBoth},
    {"15: static pod, systemd driver",
     "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod<s>.slice/"
     "cri-containerd-<c>.scope",
     kStatic},
    {"16: static pod, cgroupfs", "9:pids:/kubepods/burstable/pod<s>/<c>", kStatic},
    {"17: kind, seen from within its node",
     "0::/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-besteffort.slice/"
     "kubelet-kubepods-besteffort-pod<u>.slice/cri-containerd-<c>.scope",
     kBoth},
    {"18: kind, seen from the host: the node's container does not win",
     "0::/system.slice/docker-<o>.scope/kubelet.slice/kubelet-kubepods.slice/"
     "kubelet-kubepods-burstable.slice/kubelet-kubepods-burstable-pod<u>.slice/"
     "cri-containerd-<c>.scope",
     kBoth},
    {"19: minikube on v1, seen from the host", "7:memory:/docker/<o>/kubepods/burstable/pod<d>/<c>",
     kBoth},
    {"20: a cgroup root of its own",
     "0::/container.slice/container-kubepods.slice/container-kubepods-pod<u>.slice/"
     "cri-containerd-<c>.scope",
     kBoth},
    {"21: systemd runs in the container",
     "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod<u>.slice/"
     "cri-containerd-<c>.scope/system.slice/sshd.service",
     kBoth},
    {"22: Docker runs in the container: the kubelet knows the outer one",
     "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod<u>.slice/"
     "cri-containerd-<c>.scope/docker/<o>",
     kBoth},
    {"23: private cgroup namespace, same class",
     "0::/../../kubepods-burstable-pod<u>.slice/cri-containerd-<c>.scope", kBoth},
    {"24: private cgroup namespace, another class",
     "0::/../../../kubepods-besteffort.slice/kubepods-besteffort-pod<u>.slice/"
     "cri-containerd-<c>.scope",
     kBoth},
    {"25: private cgroup namespace, Guaranteed",
     "0::/../../../kubepods-pod<u>.slice/crio-<c>.scope/container", kBoth},
    {"26: private cgroup namespace, own pod: its uid is lost", "0::/../cri-containerd-<c>.scope",
     kContainerOnly},
    {"27: own cgroup, or the root", "0::/", kNothing},
    {"28: a service of the host", "0::/../../../../system.slice/containerd.service", kNothing},
    {"29: the cgroup is gone already",
     "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod<u>.slice/"
     "cri-containerd-<c>.scope (deleted)",
     kBoth},
    {"30: directly in the pod",
     "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod<u>.slice", kPodOnly},
    {"31: CRI-O's monitor is no workload",
     "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod<u>.slice/"
     "crio-conmon-<c>.scope",
     kPodOnly},
    {"32: Kata's machine: the sandbox's id", "0::/kata_overhead/<c>", kContainerOnly},
    {"33: Kata's cgroup of a sandbox", "6:memory:/kubepods/pod<d>/kata_<c>", kBoth},
    {"34: Docker alone", "0::/system.slice/docker-<c>.scope", kContainerOnly},
    {"35: Docker alone, v1", "13:name=systemd:/docker/<c>", kContainerOnly},
    {"36: Podman with crun", "0::/machine.slice/libpod-<c>.scope/container", kContainerOnly},
    {"37: a service of a user",
     "0::/user.slice/user-1000.slice/user@1000.service/app.slice/jupyter.service", kNothing},
    {"38: a step of Slurm", "0::/system.slice/slurmstepd.scope/job_4711/step_0/user/task_0",
     kNothing},
    {"39: kubelet itself", "0::/system.slice/kubelet.service", kNothing},
    {"40: a name that begins as a pod's",
     "0::/user.slice/podinfo-2d711642b726b04401627ca9fbac32f5.scope", kNothing},
    {"a line without a path", "0:", kNothing},
    {"no line at all", "", kNothing},
    {"a uid one digit short", "0::/kubepods/pod0cc175b9-c0f1-46a8-a1c3-99e26977266/<c>",
     kContainerOnly},
    {"a longer number", "0::/docker/CA<c>", kNothing},
    {"an unknown prefix", "0::/system.slice/other-<c>.scope", kNothing},
    {"a pod of another word", "0::/kubepods/tripod<s>/<c>", kContainerOnly},
};

TEST(CgroupPath, ReadsEveryKnownPath) {
  for (const Line& line : kLines) {
    EXPECT_EQ(ParseCgroup(Filled(line.text)), Expected(line.found)) << line.label;
    EXPECT_EQ(ParseCgroup(Filled(line.text) + std::string("\n")), Expected(line.found))
        << line.label;
  }
}

TEST(CgroupPath, PrefersTheLineWithPodAndContainer) {
  const struct {
    const char* label;
    std::string text;
    const char* found;
  } rows[] = {
      {"v2 beside v1 shows a service only",
       "12:pids:/kubepods/burstable/pod<d>/<c>\n0::/system.slice/containerd.service\n", kBoth},
      {"whatever comes first",
       "0::/system.slice/containerd.service\n12:pids:/kubepods/burstable/pod<d>/<c>\n", kBoth},
      {"a pod before a container", "2:pids:/docker/<o>\n1:cpu:/kubepods/burstable/pod<d>\n",
       kPodOnly},
      {"both before a pod", "2:pids:/kubepods/pod<s>\n1:cpu:/kubepods/pod<d>/<c>\n", kBoth},
      {"of equals the first", "2:pids:/docker/<c>\n1:cpu:/docker/<o>\n", kContainerOnly},
      {"lines that are none", "\n::::\nkubepods\n1:cpu:/docker/<c>\n", kContainerOnly},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(ParseCgroup(Filled(row.text)), Expected(row.found)) << row.label;
  }
}

}  // namespace
}  // namespace podgpu
