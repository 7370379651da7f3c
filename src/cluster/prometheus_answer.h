// What a Prometheus answers to an instant query: a value for each series, and whom it is of.
//
// Whoever answers may be Thanos, Mimir or something that only looks like it, so nothing is
// believed: what is no number counts as not known, and an answer of another form is refused with
// one line.  Pure functions; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace podgpu {

struct PodName {
  std::string pod_namespace;
  std::string name;
  auto operator<=>(const PodName&) const = default;
};

// One series of GPUs, by the labels of dcgm-exporter and of older exporters.
struct AnsweredSeries {
  std::string gpu;       // UUID; without one, the target and the GPU's number there.
  std::string instance;  // GPU_I_ID; empty for a whole GPU.
  PodName pod;           // By the labels `pod` and `namespace`.
  // By `exported_pod` and `exported_namespace`: what Prometheus makes of those two where the
  // target has labels of that name itself.
  PodName exported_pod;
  std::optional<double> value;  // Nothing for NaN and infinities.
};

// The labels that series are told apart by, in the form of PromQL's `by` clause.
std::string_view AnsweredLabels();

// `json` is the body of an answer with status 200.  kInvalidArgument with one line.
StatusOr<std::vector<AnsweredSeries>> ReadPrometheusAnswer(std::string_view json);

// What the body of an answer with another status says is wrong; a text of the server's, as one
// clean line, or an empty one.
std::string PrometheusComplaint(std::string_view json);

}  // namespace podgpu
