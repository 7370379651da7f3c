// Reports energy, utilisation and memory of each process on each GPU that it uses, as
// my-gpu-exporter does.
//
// Seven families under a prefix of the user's choice, all with the same eight labels, so the
// queries and joins of my-gpu-exporter work.  An unknown fact of a process is an empty label.
// Energy is the sum over the ledger's methods.  It has two names: the one in the documents of
// my-gpu-exporter, and the one in its code. podgpu_process_energy_joules_total has the energy by
// method.  Its rows without a pid hold what else a pod is charged with: "ended" for processes whose
// rows are gone, "idle" for idle GPUs that the pod holds.  So the sum over a pod never falls, and
// the rows of a GPU add up.  Lines are made once per generation of the accounts and refer to slots,
// whose numbers the tick appends each time.  Pure functions; called on the tick thread.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "exposition/series_plan.h"
#include "process/process_accounts.h"
#include "sample/value.h"
#include "view/family_doc.h"

namespace podgpu {

inline constexpr std::string_view kProcessPrefix = "my_gpu_process";

// Names for the numbers and ids of the process table.
struct ProcessNames {
  struct Pod {
    std::string name_space, name;
    std::string uid = {};  // The uid from the API server; empty if not known.
    bool operator==(const Pod&) const = default;
  };
  std::map<DeviceNumber, std::string> gpus;      // "0"; a device without a name has no rows.
  std::map<DeviceNumber, std::string> uuids;     // The UUIDs of the same devices.
  std::map<std::string, Pod, std::less<>> pods;  // Pods by uid.
  // The way in which a pod holds a device.
  struct Holding {
    std::string container;  // Empty if several of its containers hold it, or no holder is known.
    bool shared = false;    // The pod has a replica, or other pods hold the device too.
    bool operator==(const Holding&) const = default;
  };
  std::map<PodOnDevice, Holding> holdings;
  std::map<std::string, std::string, std::less<>> containers;  // Names by container id.
  bool operator==(const ProcessNames&) const = default;
};

// Adds the rows of all listed processes. `first_slot`: the slot of the first number that
// AppendProcesses appends.
void AddProcessView(const ProcessAccounts& accounts, const ProcessNames& names,
                    std::string_view prefix, uint32_t first_slot, PlanBuilder& plan);

// Appends the numbers of all listed processes and of the rows without a pid, in the order that
// AddProcessView expects.
void AppendProcesses(const ProcessAccounts& accounts, std::vector<Value>& slots);

// Returns how many numbers AppendProcesses appends.
uint32_t ProcessSlotCount(const ProcessAccounts& accounts);

// The families, under kProcessPrefix.
std::vector<FamilyDoc> ProcessFamilies();

}  // namespace podgpu
