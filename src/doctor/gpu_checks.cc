#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"

#include "base/text.h"
#include "doctor/checks.h"
#include "doctor/doctor_fields.h"
#include "doctor/words.h"
#include "source/pci_bus.h"
#include "topology/device_state.h"

namespace podgpu {
namespace {

// GPUs with a value of `field`, and the reason why the others have none.
struct GpuValues {
  std::vector<std::pair<uint32_t, double>> values;  // Values by GPU id.
  std::vector<std::pair<uint32_t, Absence>> absent;
};

GpuValues ValuesOf(const DriverFacts& facts, const Field& field) {
  GpuValues found;
  const std::optional<FieldRow> row = facts.grid->RowOf(field.id);
  const Topology& topology = facts.grid->topology();
  for (size_t i = 0; row && i < topology.entities.size(); ++i) {
    const EntityId id{static_cast<uint16_t>(i)};
    if (topology.entities[i].kind != EntityKind::kGpu ||
        !facts.grid->ColumnsOf(*row).Contains(id)) {
      continue;
    }
    const Value& value = facts.grid->at(*row, id);
    const uint32_t gpu = topology.GpuOf(id).gpu_id;
    if (value.present() && value.kind() != Value::Kind::kText) {
      found.values.emplace_back(gpu, value.number());
    } else {
      found.absent.emplace_back(gpu, value.absence());
    }
  }
  return found;
}

std::vector<uint32_t> GpusAbove(const GpuValues& values, double limit) {
  std::vector<uint32_t> gpus;
  for (const auto& [gpu, value] : values.values) {
    if (value > limit) {
      gpus.push_back(gpu);
    }
  }
  return gpus;
}

std::vector<uint32_t> GpusWithout(const GpuValues& values, Absence reason) {
  std::vector<uint32_t> gpus;
  for (const auto& [gpu, absence] : values.absent) {
    if (absence == reason) {
      gpus.push_back(gpu);
    }
  }
  return gpus;
}

// Returns the finding of checks that need the driver's own counters.
Finding ReadElsewhere() {
  return Finding::Skip("no driver library here; the engine reads the counters");
}

// Returns for example "8 ok" or "7 ok, 1 lost".
std::string StatesIn(const Topology& topology) {
  std::string text;
  for (int state = 0; state < kDeviceStateCount; ++state) {
    const auto count =
        std::ranges::count(topology.gpus, static_cast<DeviceState>(state), &Gpu::state);
    if (count > 0) {
      absl::StrAppendFormat(&text, "%s%d %s", text.empty() ? "" : ", ", count,
                            DeviceStateName(static_cast<DeviceState>(state)));
    }
  }
  return text;
}

std::vector<uint32_t> GpusNotOk(const Topology& topology) {
  std::vector<uint32_t> gpus;
  for (const Gpu& gpu : topology.gpus) {
    if (gpu.state != DeviceState::kOk) {
      gpus.push_back(gpu.gpu_id);
    }
  }
  return gpus;
}

// The addresses on the bus at which the source sees no GPU.
std::vector<std::string> MissingIn(const Topology& topology, const std::vector<std::string>& bus) {
  std::vector<std::string> missing;
  std::ranges::copy_if(bus, std::back_inserter(missing), [&topology](const std::string& address) {
    return std::ranges::none_of(topology.gpus, [&address](const Gpu& gpu) {
      return KernelPciAddress(gpu.pci_bus_id) == address;
    });
  });
  return missing;
}

bool AsksForProfiling(const Session& session) {
  return std::ranges::any_of(session.node().source.fields, &Field::profiling);
}

std::string ResetOf(const std::vector<uint32_t>& gpus) {
  return absl::StrFormat("drain the node, then: nvidia-smi --gpu-reset -i %d", gpus.front());
}

}  // namespace

Finding CheckGpuStates(Session& session) {
  const Topology& topology = *session.topology();
  const std::vector<std::string> bus = ListPciGpus(session.sysfs);
  const size_t promised = CountPromised(bus, topology);
  const size_t expected = std::max(promised, topology.gpus.size());
  Finding finding = Finding::Ok(absl::StrFormat("%d expected, %d present: %s", expected,
                                                topology.gpus.size(), StatesIn(topology)));
  for (const Gpu& gpu : topology.gpus) {
    finding.evidence.emplace_back(
        absl::StrFormat("GPU %d", gpu.gpu_id),
        absl::StrFormat("%s, %s, %s", DeviceStateName(gpu.state), gpu.uuid, gpu.pci_bus_id));
  }
  const std::vector<uint32_t> bad = GpusNotOk(topology);
  if (bad.empty() && expected == topology.gpus.size()) {
    return finding;
  }
  finding.severity = bad.size() == expected ? Severity::kFail : Severity::kWarn;
  finding.lose = {"some_devices"};
  if (!bad.empty()) {
    finding.fact += absl::StrFormat(" (%s)", GpuList(bad));
  }
  if (expected > topology.gpus.size()) {
    finding.fact += "; missing: " + Listed(MissingIn(topology, bus));
  }
  finding.remedy = bad.empty() ? "look for NVRM in the kernel log of the node: dmesg"
                               : "drain the node and reboot it: systemctl reboot";
  finding.change = "GPUs that are all present";
  return finding;
}

Finding CheckMig(Session& session) {
  const Topology& topology = *session.topology();
  const auto enabled =
      static_cast<size_t>(std::ranges::count(topology.gpus, true, &Gpu::mig_enabled));
  if (enabled == 0) {
    return Finding::Ok("off " + OnSome(topology.gpus.size(), topology.gpus.size()));
  }
  Finding finding =
      Finding::Ok(absl::StrFormat("on for %d of %d: %s", enabled, topology.gpus.size(),
                                  Counted(topology.instances.size(), "instance")));
  for (const GpuInstance& instance : topology.instances) {
    finding.evidence.emplace_back(
        absl::StrFormat("GPU %d", topology.gpus[instance.gpu].gpu_id),
        absl::StrFormat("instance %d, %s", instance.gpu_instance_id, instance.profile));
  }
  if (!topology.nvml_absence.empty()) {
    finding.severity = Severity::kNote;
    finding.fact += "; their UUIDs are unknown: " + topology.nvml_absence;
    finding.lose = {"mig_owners"};
  }
  return finding;
}

Finding CheckProfiling(Session& session) {
  const std::shared_ptr<const DriverFacts> driver = session.driver.Get();
  if (driver == nullptr) {
    return ReadElsewhere();
  }
  const bool asked = AsksForProfiling(session);
  const GpuValues values = ValuesOf(*driver, *doctor_fields::Profiling());
  const size_t all = values.values.size() + values.absent.size();
  const auto trouble = [&](std::string fact, std::string remedy) -> Finding {
    return {.severity = asked ? Severity::kWarn : Severity::kNote,
            .fact = std::move(fact),
            .lose = {"profiling"},
            .remedy = std::move(remedy),
            .change = "the profiling counters for podgpu"};
  };
  if (const auto taken = GpusWithout(values, Absence::kCountersTaken); !taken.empty()) {
    return trouble("another program holds the profiling counters of " + GpuList(taken),
                   "end the other profiler (ncu, nsys, or another exporter)");
  }
  if (const auto denied = GpusWithout(values, Absence::kNotPermitted); !denied.empty()) {
    return trouble(
        "the driver keeps the profiling counters of " + GpuList(denied) + " for administrators",
        "load the driver with NVreg_RestrictProfilingToAdminUsers=0, or add the "
        "capability SYS_ADMIN");
  }
  if (driver->has_gpm) {
    return Finding::Ok(absl::StrFormat("GPM %s; profilers are not locked out", OnSome(all, all)));
  }
  Finding finding = {
      .severity = Severity::kNote,
      .fact = absl::StrFormat("no GPM on these %d boards, which Hopper and later have", all),
      .lose = {"profiling"}};
  if (session.NamesEngine()) {
    finding = Finding::Ok(absl::StrFormat("by DCGM on %d boards without GPM", all));
  }
  return finding;
}

Finding CheckEnergy(Session& session) {
  const std::shared_ptr<const DriverFacts> driver = session.driver.Get();
  if (driver == nullptr) {
    return ReadElsewhere();
  }
  const GpuValues values = ValuesOf(*driver, *doctor_fields::Energy());
  const size_t all = values.values.size() + values.absent.size();
  Finding finding = Finding::Ok("hardware counter " + OnSome(values.values.size(), all));
  if (!values.absent.empty()) {
    std::vector<uint32_t> without;
    for (const auto& [gpu, absence] : values.absent) {
      without.push_back(gpu);
      finding.evidence.emplace_back(absl::StrFormat("GPU %d", gpu), AbsenceMeaning(absence));
    }
    finding.severity = Severity::kNote;
    finding.fact += ", not " + GpuList(without);
    finding.lose = {"measured_energy"};
  }
  return finding;
}

Finding CheckMemory(Session& session) {
  const std::shared_ptr<const DriverFacts> driver = session.driver.Get();
  if (driver == nullptr) {
    return ReadElsewhere();
  }
  const auto above = [&](const Field* field) { return GpusAbove(ValuesOf(*driver, *field), 0); };
  const std::vector<uint32_t> failed = above(doctor_fields::RemapFailed());
  const std::vector<uint32_t> pending = above(doctor_fields::RemapPending());
  const std::vector<uint32_t> errors = above(doctor_fields::EccUncorrectable());
  if (failed.empty() && pending.empty() && errors.empty()) {
    return Finding::Ok(absl::StrFormat("no uncorrectable error, no remap pending on %s",
                                       Counted(session.topology()->gpus.size(), "GPU")));
  }
  Finding finding = {.severity = Severity::kWarn, .lose = {"trusted_results"}};
  if (!failed.empty()) {
    finding.fact = "row remapping failed on " + GpuList(failed);
    finding.remedy = "replace the board: " + GpuList(failed);
  } else if (!pending.empty()) {
    finding.fact = absl::StrFormat("%s for a reset to repair memory",
                                   GpuList(pending) + (pending.size() == 1 ? " waits" : " wait"));
    finding.remedy = ResetOf(pending);
  } else {
    finding.fact = "uncorrectable memory errors since the driver was loaded on " + GpuList(errors);
    finding.remedy = ResetOf(errors);
  }
  finding.change = "a reset of the GPUs with memory errors";
  return finding;
}

Finding CheckRecovery(Session& session) {
  const std::shared_ptr<const DriverFacts> driver = session.driver.Get();
  if (driver == nullptr) {
    return ReadElsewhere();
  }
  const GpuValues values = ValuesOf(*driver, *doctor_fields::RecoveryAction());
  const std::vector<uint32_t> asking = GpusAbove(values, 0);
  if (asking.empty() && driver->release_reason.empty()) {
    return Finding::Ok(absl::StrFormat("the driver asks for nothing on %s",
                                       Counted(session.topology()->gpus.size(), "GPU")));
  }
  return {.severity = Severity::kWarn,
          .fact = asking.empty() ? driver->release_reason
                                 : "the driver asks for a recovery of " + GpuList(asking),
          .lose = {"some_devices"},
          .remedy = asking.empty()
                        ? "end the programs on that GPU, so that the driver can release it"
                        : ResetOf(asking),
          .change = "the recovery that the driver asks for"};
}

}  // namespace podgpu
