// Metrics of the list that this node can never give: a mistake in the configuration, or a library
// that is missing.
//
// Without a warning such a family would be missing silently, for example profiling of a GPU before
// Hopper where only NVML is there.  The source tells which fields it lacks (sample/findings.h), and
// the list of metrics names the requested fields.  Used on the tick thread only; the functions are
// pure.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "fields/counters_csv.h"
#include "health/added_warnings.h"
#include "sample/findings.h"

namespace podgpu {

// The remedy where the source lacks a field that DCGM has; a sentence without a full stop.
inline constexpr std::string_view kLetDcgmRead =
    "Let DCGM read them (image podgpu-dcgm, or dcgm.library.image of the chart), or take them out "
    "of the list (--metrics-exclude)";

// Returns one warning if `counters` names fields of `lacked`, which may be null.
std::vector<std::string> LackedWarnings(const LackedFields* lacked,
                                        const std::vector<Counter>& counters);

class LackedMetrics {
 public:
  // Logs a line when the lacked metrics change.  Allocates nothing while both arguments stay.
  void Take(const std::shared_ptr<const LackedFields>& lacked,
            const std::shared_ptr<const std::vector<Counter>>& counters);

  // Returns `notes` with the warning; the same object again while neither changes.
  std::shared_ptr<const ConfigNotes> AddTo(const std::shared_ptr<const ConfigNotes>& notes) {
    return warnings_.AddTo(notes);
  }

 private:
  std::shared_ptr<const LackedFields> lacked_;
  std::shared_ptr<const std::vector<Counter>> counters_;
  AddedWarnings warnings_;
};

}  // namespace podgpu
