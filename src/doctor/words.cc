#include "doctor/words.h"

#include "absl/strings/str_format.h"

namespace podgpu {
std::string GpuList(const std::vector<uint32_t>& gpus) {
  std::string text = gpus.size() == 1 ? "GPU " : "GPUs ";
  for (size_t i = 0; i < gpus.size(); ++i) {
    absl::StrAppendFormat(&text, "%s%d",
                          i == 0                 ? ""
                          : i + 1 == gpus.size() ? " and "
                                                 : ", ",
                          gpus[i]);
  }
  return text;
}

std::string OnSome(size_t count, size_t all) {
  return count == all ? absl::StrFormat("on all %d", all)
                      : absl::StrFormat("on %d of %d", count, all);
}

Finding Failed(Severity severity, const Status& status, std::vector<std::string> lose,
               std::string_view otherwise) {
  FactAndRemedy parts = Parted(status, otherwise);
  return {.severity = severity,
          .fact = std::move(parts.fact),
          .lose = std::move(lose),
          .remedy = std::move(parts.remedy),
          .blocks = true};
}

}  // namespace podgpu
