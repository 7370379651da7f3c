// The per-process page of my-gpu-exporter: energy, utilisation and memory of each process on each
// GPU that it uses.
//
// Seven families under a prefix of the user's choice, all with exactly the same eight labels, so
// that its queries and joins match; what is not known of a process is an empty label.  Energy is
// the sum over the ledger's methods, once under the name that its documents use and once under the
// one that its code had; podgpu_process_energy_joules_total has it by method.  There, rows without
// a pid say what else a pod was charged: "ended" of processes whose rows have gone, "idle" of the
// energy of idle GPUs that it holds; so the rows of a pod never fall, and those of a GPU add up.
// Lines are made once per generation of the accounts and refer to slots, which the tick appends
// each time.  Pure functions; the tick thread calls them.
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

namespace podgpu {

inline constexpr std::string_view kProcessPrefix = "my_gpu_process";

// The names of what the table knows by numbers and ids.
struct ProcessNames {
  struct Pod {
    std::string name_space, name;
    std::string uid = {};  // As the API server has it; empty where it does not tell.
    bool operator==(const Pod&) const = default;
  };
  std::map<DeviceNumber, std::string> gpus;      // "0"; who has none has no rows.
  std::map<DeviceNumber, std::string> uuids;     // Of those.
  std::map<std::string, Pod, std::less<>> pods;  // By uid.
  // How a pod has a device.
  struct Holding {
    std::string container;  // Empty where several of its containers have it, or none is known to.
    bool shared = false;    // By a replica, or others have it too.
    bool operator==(const Holding&) const = default;
  };
  std::map<PodOnDevice, Holding> holdings;
  std::map<std::string, std::string, std::less<>> containers;  // By container id.
  bool operator==(const ProcessNames&) const = default;
};

// Adds the rows of all listed processes; `first_slot` is where AppendProcesses will begin.
void AddProcessView(const ProcessAccounts& accounts, const ProcessNames& names,
                    std::string_view prefix, uint32_t first_slot, PlanBuilder& plan);

// Appends the numbers of all listed processes and of the rows without a pid, in the order that
// AddProcessView relies on.
void AppendProcesses(const ProcessAccounts& accounts, std::vector<Value>& slots);

// How many that are.
uint32_t ProcessSlotCount(const ProcessAccounts& accounts);

// Name, type, unit and help of every family, for docs/metrics.md.
std::vector<Family> ProcessFamilies(std::string_view prefix);
// That of energy by method, which has the labels UUID and method more.
Family ProcessEnergyByMethodFamily();

}  // namespace podgpu
