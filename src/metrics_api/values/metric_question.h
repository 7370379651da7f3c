// Answers questions for metrics from a table: one number for external metrics, one for each pod for
// custom metrics.
//
// kInvalidArgument: the selector uses a label that the metric does not have; the message names
// those that it has. kNotFound: there is no fresh value; the message says why. A count is 0 only if
// that is known. Pure functions; any thread.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "metrics_api/values/label_selector.h"
#include "metrics_api/values/metrics_table.h"

namespace podgpu {

// `name_space` limits the question to the pods of that namespace, except for kFreeGpus.
StatusOr<TimedValue> AskExternal(const MetricsTable& table, ExternalMetric metric,
                                 std::string_view name_space, const LabelSelector& selector);

// A question about devices in use; an empty text selects everything.
struct InUseQuestion {
  std::string name_space = {}, workload = {}, model = {};
  AveragedMeasure measure = AveragedMeasure::kMemoryCopy;
};
struct InUseMean {
  TimedValue percent;  // 0 if no device was in use; never if one of them may have been.
  size_t devices = 0;  // Selected GPUs and MIG instances with a value.
  size_t in_use = 0;   // Those of them that were in use at some time of the window.
};
// Without namespace and workload, devices that no pod holds count, too.
StatusOr<InUseMean> AskInUse(const MetricsTable& table, const InUseQuestion& question);

struct PodValue {
  std::string_view pod;  // Name of the pod, borrowed from the table.
  TimedValue value;
};

// Selects the pods of a question: one by name, or those that `selects` accepts.
struct PodQuestion {
  PodMetric metric = PodMetric::kUtilization;
  std::string_view name_space;
  std::string_view name;                                   // Empty: all.
  std::function<bool(std::string_view pod)> selects = {};  // Empty: all.
};

// Returns the values of the pods, at least one. `selector` selects by the labels of the metric.
StatusOr<std::vector<PodValue>> AskPods(const MetricsTable& table, const PodQuestion& question,
                                        const LabelSelector& selector);

}  // namespace podgpu
