// A history of pages as one OpenMetrics text with time stamps, which promtool makes blocks of.
//
// The lines are those of the pages, family by family and series by series as the format wants them;
// only the time stamp at the end of each line is added here.  One thread; tests only.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace podgpu {

class History {
 public:
  // A page in OpenMetrics, as it was at `stamp_us` (microseconds since 1970), later than all
  // before.
  void Add(std::string_view page, int64_t stamp_us);
  std::string Text() const;

 private:
  struct FamilyHistory {
    std::string header;
    std::vector<std::string> order;            // Of series: names with labels.
    std::map<std::string, std::string> lines;  // By series.
  };

  std::vector<std::string> order_;  // Of families.
  std::map<std::string, FamilyHistory> families_;
};

}  // namespace podgpu
