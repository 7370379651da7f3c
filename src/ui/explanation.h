// Explains why the rows of a device look as they do, step by step, with a remedy.
//
// The steps follow a label from the driver to the page: device, allocation, match, processes,
// values. HTML, JSON and text show the same steps in the same words.  Plain data, made for one
// request from published facts (pages/explain.h).  Pure functions; called on the HTTP thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace podgpu {

struct ExplainedStep {
  std::string_view name;  // "device", "allocation", "match", "processes", "values"
  std::string_view state;
  std::string detail;  // A sentence without a full stop.
  bool operator==(const ExplainedStep&) const = default;
};

struct ExplainedDevice {
  uint32_t gpu_id = 0;
  std::optional<uint32_t> gpu_instance_id;  // Set for a MIG instance.
  std::string uuid, model, pci_bus_id;      // Facts of the GPU.
  std::string profile;                      // Profile of the instance.
  std::vector<ExplainedStep> steps;
  std::string remedy;     // Empty if nothing needs to be done.
  std::string condition;  // "lost since 14:01:07 UTC (2m15s)"; empty if the device is ok.
};

struct Explanation {
  std::vector<ExplainedDevice> devices;
  std::vector<std::string> notes;  // Facts about the whole node, or why no device is explained.
  bool lacks_device = false;       // The request names a device that this node does not have.
};

std::string ExplanationText(const Explanation& explanation);
std::string ExplanationHtml(const Explanation& explanation, std::string_view hostname);
std::string ExplanationJson(const Explanation& explanation);

}  // namespace podgpu
