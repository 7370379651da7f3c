// Learns which pod a uid belongs to where no API server tells: from devices that the kubelet gives
// to one container alone.
//
// A process has the uid of its pod and the id of its container in its cgroup; the kubelet has names
// and no ids.  A process on a device that one container holds alone belongs to it, as long as
// nothing contradicts: a uid that also runs on devices which that pod does not hold is another
// pod's, and so is a second uid while the pod is known by the first.  Two uids on one device of
// which both may be the owner name neither.  What was learned stays while a row or an owner needs
// it.  Pure but for its memory; the tick thread calls it, when processes or owners have changed.
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
  const std::vector<std::string>& uuids;  // Of the devices with these numbers.
  const Topology& topology;
  const Owners& owners;
};

class LearnedPods {
 public:
  // True when it knows something else than before.
  bool Learn(const DeviceUsers& users);
  // Drops all: the API server tells now.  True when there was something.
  bool Forget();

  // Null for a pod or container that it does not know.
  const ProcessNames::Pod* PodOf(const std::string& uid) const;
  const std::string* UidOf(const std::string& name_space, const std::string& name) const;
  const std::string* ContainerOf(const std::string& container_id) const;

 private:
  using PodKey = std::pair<std::string, std::string>;  // Namespace, name.
  using Entities = std::set<uint16_t>;

  // Who runs where now, by uid and by container id; and every uid that has a row.
  struct Places {
    std::map<std::string, Entities> of_pods;
    std::map<std::string, std::pair<std::string, Entities>> of_containers;  // With its pod's uid.
    std::set<std::string> uids;
  };

  static Places PlacesOf(const DeviceUsers& users);
  void Bind(const PodKey& pod, const std::set<std::string>& candidates, const Places& places);
  void NameContainers(const Places& places, const Owners& owners);
  void DropUnused(const Places& places, const Owners& owners);

  std::map<PodKey, std::string> uids_;
  std::map<std::string, ProcessNames::Pod> pods_;  // By uid.
  std::map<std::string, std::string> containers_;  // By id.
};

// Processes in pods that have no names, on devices that pods hold.
struct UnnamedProcesses {
  size_t count = 0;
  uint32_t pid = 0;  // Of the first, with its GPU.
  uint32_t gpu_id = 0;
  std::string uuid;
  size_t owners = 0;  // Containers that hold that device.
};
UnnamedProcesses FindUnnamed(const DeviceUsers& users, const ProcessNames& names);

}  // namespace podgpu
