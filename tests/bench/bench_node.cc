#include "tests/bench/bench_node.h"

#include <array>
#include <set>

#include "absl/strings/str_format.h"

#include "base/status.h"
#include "fields/field.h"
#include "view/view.h"

namespace podgpu {
namespace {

// Clocks, temperatures, power, energy, PCIe, violations, memory, ECC, remapped rows, profiling.
constexpr std::array<uint16_t, 60> kFields = {
    100, 101, 110, 111, 112, 113,  114,  140,  150,  155,  156,  157,  160,  161,  162,
    163, 164, 190, 202, 235, 236,  237,  238,  240,  241,  242,  243,  244,  245,  246,
    247, 250, 251, 252, 253, 254,  310,  311,  312,  313,  314,  315,  316,  317,  318,
    319, 393, 394, 395, 396, 1001, 1002, 1003, 1004, 1005, 1006, 1007, 1008, 1009, 1010};

constexpr size_t kMaxMigInstances = 7;

std::string PodOf(size_t number, const std::string& device, bool mig) {
  return absl::StrFormat(
      "  - {name: train-%d, namespace: ml, containers: [{name: main, devices: [%s], processes: "
      "[{pid: %d, load: train, memory: %s}]}]}\n",
      number, device, 4000 + number, mig ? "4GiB" : "40GiB");
}

}  // namespace

std::string ScenarioOf(const NodeSize& size) {
  PODGPU_CHECK(size.instances_per_gpu <= kMaxMigInstances);
  const bool mig = size.instances_per_gpu > 0;
  std::string profiles;
  for (size_t i = 0; i < size.instances_per_gpu; ++i) {
    profiles += i == 0 ? "1g.10gb" : ", 1g.10gb";
  }
  std::string text = absl::StrFormat(
      "format: 1\n"
      "name: bench\n"
      "gpus: [{count: %d, class: h100-sxm5-80gb%s}]\n"
      "loads: {train: {phases: [{for: 4s, sm: 90%%, mem: 60%%, tensor: 50%%, pcie: 1GB/s}, "
      "{for: 2s, sm: 5%%}]}}\n"
      "pods:\n",
      size.gpus, mig ? absl::StrFormat(", mig: [%s]", profiles) : "");
  size_t number = 0;
  for (size_t gpu = 0; gpu < size.gpus; ++gpu) {
    for (size_t i = 0; i < size.instances_per_gpu; ++i) {
      text += PodOf(number++, absl::StrFormat("gpu%d/mig%d", gpu, i), true);
    }
    if (!mig) {
      text += PodOf(number++, absl::StrFormat("gpu%d", gpu), false);
    }
  }
  return text;
}

std::string SixtyCounters() {
  std::string text;
  for (const uint16_t id : kFields) {
    const Field* field = FindField(id);
    PODGPU_CHECK(field != nullptr);
    text += absl::StrFormat("%s, gauge, A field of the benchmarks.\n", field->name);
  }
  return text;
}

std::vector<uint16_t> FieldsReadForSixtyCounters() {
  std::set<uint16_t> ids(kFields.begin(), kFields.end());
  const std::vector<uint16_t> native = NativeFieldIds();
  ids.insert(native.begin(), native.end());
  return {ids.begin(), ids.end()};
}

}  // namespace podgpu
