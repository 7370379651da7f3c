// The rows of DCGM_FI_DEV_GPU_TEMP on a page, for tests: the number of each, and the labels that
// say which GPU and pod it belongs to.
#pragma once

#include <charconv>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_format.h"

#include "base/text.h"

namespace podgpu {

struct TempRow {
  std::string uuid, pod, pod_uid;
  int64_t value = 0;
};

inline std::string LabelOf(std::string_view line, std::string_view name) {
  const std::string begin = absl::StrFormat("%s=\"", name);
  for (size_t at = line.find(begin); at != std::string_view::npos; at = line.find(begin, at + 1)) {
    if (line[at - 1] == '{' || line[at - 1] == ',') {
      const size_t first = at + begin.size();
      return std::string(line.substr(first, line.find('"', first) - first));
    }
  }
  return {};
}

inline std::vector<TempRow> TempRowsOf(std::string_view page) {
  std::vector<TempRow> rows;
  for (const std::string_view line : Split(page, '\n')) {
    if (line.starts_with("DCGM_FI_DEV_GPU_TEMP{")) {
      TempRow row{LabelOf(line, "UUID"), LabelOf(line, "pod"), LabelOf(line, "pod_uid"), 0};
      const std::string_view number = line.substr(line.rfind(' ') + 1);
      std::from_chars(number.data(), number.data() + number.size(), row.value);
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

}  // namespace podgpu
