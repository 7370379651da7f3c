// The computation of Kubernetes' HorizontalPodAutoscaler, for tests of the values that it reads.
//
// From the published description of the algorithm (Kubernetes 1.34, "Horizontal Pod Autoscaling"):
// ceil(replicas x value / target), unless the quotient is within the tolerance of 1; not below the
// highest recommendation of the stabilisation window when scaling down; at most 4 pods or 100 %
// more for each sync; the limits of the object last.  Without a value the number stays.  One
// thread; time comes from the caller.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>

namespace podgpu {

struct AutoscalerOptions {
  double target = 0;  // Above 0, in the unit of the value.
  int least = 1, most = 10;
  std::chrono::seconds down_window{300};
  double tolerance = 0.1;
};

class HorizontalAutoscaler {
 public:
  // `replicas` run already.
  HorizontalAutoscaler(AutoscalerOptions options, int replicas)
      : options_(options), replicas_(replicas) {}

  // One sync: returns the number of replicas from `now` on.  `now` grows from call to call.
  int Sync(std::chrono::seconds now, std::optional<double> value);

  int replicas() const { return replicas_; }

 private:
  struct Recommendation {
    std::chrono::seconds at;
    int replicas;
  };
  int Desired(double value) const;
  int Stabilized(std::chrono::seconds now, int desired);

  const AutoscalerOptions options_;
  int replicas_;
  std::deque<Recommendation> past_;  // Those in the window, oldest first.
};

}  // namespace podgpu
