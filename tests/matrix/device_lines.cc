#include "tests/matrix/device_lines.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <vector>

#include "base/text.h"
#include "health/self_metrics.h"
#include "view/native_table.h"

namespace podgpu {
namespace {

// Labels of identity and owner; garbage in an identity may change them.
constexpr std::array<std::string_view, 14> kIdentityLabels = {
    "UUID",       "pci_bus_id", "device",    "modelName",         "gpu_uuid",
    "model_name", "Hostname",   "container", "namespace",         "GPU_I_PROFILE",
    "pod",        "pod_uid",    "hostname",  "exported_namespace"};

constexpr std::array<std::string_view, 6> kFactFamilies = {
    "podgpu_gpu_state", "podgpu_gpus_expected",   "podgpu_gpus_present",
    "podgpu_gpu_info",  "podgpu_allocation_info", "podgpu_gpu_instance_info"};

// Counts since the start, and times of events: they differ on every page.
bool IsOfItsMoment(std::string_view family) {
  return family.starts_with("podgpu_gpu_xid_") || family.starts_with("podgpu_pod_gpu_xid_");
}

// A line of a past state or reason: its presence depends on the history.
bool IsOfThePast(std::string_view line, std::string_view family) {
  if (!line.ends_with(" 0")) {
    return false;
  }
  return family == "podgpu_gpu_state" ||
         std::ranges::any_of(Measures(), [&](const Measure& measure) {
           return measure.shown == Shown::kOnceSeen && measure.name == family &&
                  line.find("=\"" + std::string(measure.extra_value) + "\"}") !=
                      std::string_view::npos;
         });
}

bool IsSelf(std::string_view family) {
  static const std::vector<FamilyDoc> docs = SlotFamilyDocs(SlotView::kSelf);
  return std::ranges::any_of(docs, [&](const FamilyDoc& doc) { return doc.family.name == family; });
}

// Returns `line` without the labels of identity.
std::string Reduced(std::string_view line) {
  const size_t open = line.find('{');
  if (open == std::string_view::npos) {
    return std::string(line);
  }
  std::string reduced(line.substr(0, open + 1));
  size_t at = open + 1;
  while (at < line.size() && line[at] != '}') {
    const size_t equals = line.find('=', at);
    const std::string_view name = line.substr(at, equals - at);
    size_t end = equals + 2;
    while (line[end] != '"') {
      end += line[end] == '\\' ? size_t{2} : size_t{1};
    }
    ++end;
    const bool is_field = name.starts_with("DCGM_FI_");  // A text that the device reports.
    if (!is_field && std::ranges::find(kIdentityLabels, name) == kIdentityLabels.end()) {
      reduced.append(line.substr(at, end - at)).append(",");
    }
    at = line[end] == ',' ? end + 1 : end;
  }
  return reduced.append(line.substr(at));
}

template <typename Visit>
void ForEachSample(std::string_view page, Visit visit) {
  for (const std::string_view line : Split(page, '\n')) {
    if (!line.empty() && line[0] != '#') {
      visit(line, line.substr(0, line.find_first_of("{ ")));
    }
  }
}

}  // namespace

DeviceLines DeviceLinesOf(std::string_view page) {
  DeviceLines lines;
  ForEachSample(page, [&](std::string_view line, std::string_view family) {
    if (IsSelf(family) || IsOfItsMoment(family) || IsOfThePast(line, family)) {
      return;
    }
    lines.whole.emplace(line);
    if (std::ranges::find(kFactFamilies, family) == kFactFamilies.end()) {
      lines.measured.insert(Reduced(line));
    }
  });
  return lines;
}

std::string NumberOf(std::string_view page, std::string_view series) {
  std::string number;
  ForEachSample(page, [&](std::string_view line, std::string_view /*family*/) {
    if (line.size() > series.size() && line.starts_with(series) && line[series.size()] == ' ') {
      number = line.substr(series.size() + 1);
    }
  });
  return number;
}

double SumOf(std::string_view page, std::string_view wanted) {
  double sum = 0;
  ForEachSample(page, [&](std::string_view line, std::string_view family) {
    if (family == wanted) {
      sum += std::strtod(std::string(line.substr(line.rfind(' ') + 1)).c_str(), nullptr);
    }
  });
  return sum;
}

}  // namespace podgpu
