// A history of pages as one OpenMetrics text with time stamps, from which promtool makes blocks.
//
// The lines are those of the pages, by family and by series as the format requires; only the time
// stamp at the end of each line is added here.  One thread; tests only.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace podgpu {

class PageHistory {
 public:
  // Adds a page in OpenMetrics with its time `stamp_us` (microseconds since 1970), which must be
  // later than that of all earlier pages.
  void Add(std::string_view page, int64_t stamp_us);
  std::string Text() const;

 private:
  struct FamilyHistory {
    std::string header;
    std::vector<std::string> order;            // The series in order: names with labels.
    std::map<std::string, std::string> lines;  // By series.
  };

  std::vector<std::string> order_;  // Of families.
  std::map<std::string, FamilyHistory> families_;
};

}  // namespace podgpu
