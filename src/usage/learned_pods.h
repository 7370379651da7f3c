// Learns the pod of each uid without an API server, from devices that only one container holds.
//
// The cgroup of a process has the uid of its pod and the id of its container; the kubelet has names
// and no ids.  A process on a device that only one container holds belongs to that container,
// unless a fact contradicts.  A uid that also runs on devices that the pod does not hold belongs to
// another pod.  So does a second uid while processes of the pod's known uid have rows.  If two uids
// on one device could both be the owner, neither gets a name.  A learned name stays while a row or
// an owner needs it.  Tick thread only; called when processes or owners have changed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attribution/owner.h"
#include "process/process_table.h"
#include "topology/topology.h"
#include "view/process_view.h"

namespace podgpu {

// All borrowed for the call.
struct DeviceUsers {
  const ProcessTable& table;
  const std::vector<std::string>& uuids;  // UUIDs by device number.
  const Topology& topology;
  const Owners& owners;
};

class LearnedPods {
 public:
  // Returns whether a name, uid or container has changed.
  bool Learn(const DeviceUsers& users);
  // Drops all names, because the API server lists pods now.  Returns whether there were any.
  bool Forget();

  // These return null for an unknown pod or container.
  const ProcessNames::Pod* PodOf(const std::string& uid) const;
  const std::string* UidOf(const std::string& name_space, const std::string& name) const;
  const std::string* ContainerOf(const std::string& container_id) const;

 private:
  using PodKey = std::pair<std::string, std::string>;  // Namespace, name.
  using Entities = std::set<uint16_t>;

  // The devices of running processes, by uid and by container id; and every uid that has a row.
  struct Places {
    std::map<std::string, Entities> of_pods;
    // Devices by container id, with the uid of the container's pod.
    std::map<std::string, std::pair<std::string, Entities>> of_containers;
    std::set<std::string> uids;
  };

  static Places PlacesOf(const DeviceUsers& users);
  void Bind(const PodKey& pod, const std::set<std::string>& candidates, const Places& places);
  void NameContainers(const Places& places, const Owners& owners);
  void DropUnused(const Places& places, const Owners& owners);

  std::map<PodKey, std::string> uids_;
  std::map<std::string, ProcessNames::Pod> pods_;  // Pods by uid.
  std::map<std::string, std::string> containers_;  // Containers by id.
};

// Processes in pods that have no names, on devices that pods hold.
struct UnnamedProcesses {
  size_t count = 0;
  uint32_t pid = 0;  // The first process, and the GPU on which it runs.
  uint32_t gpu_id = 0;
  std::string uuid;
  size_t owners = 0;  // Containers that hold that GPU.
};
// Finds the running processes of pods that `names` does not name.
UnnamedProcesses FindUnnamed(const DeviceUsers& users, const ProcessNames& names);

}  // namespace podgpu
