#include "base/counted.h"

#include "absl/strings/str_format.h"

namespace podgpu {

std::string Counted(size_t count, std::string_view noun) {
  const std::string_view many = noun.ends_with('s') ? "es" : "s";
  return absl::StrFormat("%d %s%s", count, noun, count == 1 ? "" : many);
}

}  // namespace podgpu
