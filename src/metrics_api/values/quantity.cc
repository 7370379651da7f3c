#include "metrics_api/values/quantity.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace podgpu {

std::string FormatQuantity(double number) {
  constexpr double kMost = 9e15;  // A number that still fits into 64 bits in thousandths.
  constexpr int64_t kThousand = 1'000;
  const int64_t thousandths = std::llround(std::clamp(number, -kMost, kMost) * 1e3);
  return thousandths % kThousand == 0 ? std::to_string(thousandths / kThousand)
                                      : std::to_string(thousandths) + "m";
}

}  // namespace podgpu
