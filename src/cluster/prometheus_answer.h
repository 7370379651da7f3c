// Parses the answer of a Prometheus to an instant query: the value and the labels of each series.
//
// The server may be Thanos, Mimir or something else, so every answer is checked: a value that is
// not a number counts as not known, and an answer of another form is refused with one line.  Pure
// functions; any thread.
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

// One series of a GPU, with the labels of dcgm-exporter or of older exporters.
struct AnsweredSeries {
  std::string gpu;       // UUID; without one, the target and the index of the GPU there.
  std::string instance;  // GPU_I_ID; empty for a whole GPU.
  PodName pod;           // Name of the pod, from the labels `pod` and `namespace`.
  // From `exported_pod` and `exported_namespace`: Prometheus renames the two labels of a series to
  // these if the target itself has labels of those names.
  PodName exported_pod;
  std::optional<double> value;  // Empty for NaN and infinities.
};

// The labels that distinguish series, in the form of PromQL's `by` clause.
std::string_view AnsweredLabels();

// `json` is the body of an answer with status 200.  kInvalidArgument with one line.
StatusOr<std::vector<AnsweredSeries>> ReadPrometheusAnswer(std::string_view json);

// Returns the server's error text in the body of an answer with another status, as one clean line;
// may be empty.
std::string PrometheusComplaint(std::string_view json);

}  // namespace podgpu
