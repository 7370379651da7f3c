#include "sample/findings.h"

#include <algorithm>

namespace podgpu {

void Findings::Clear() {
  asked = {};
  xids.clear();
  gpus.clear();
}

bool SameLines(const Findings& a, const Findings& b) {
  const auto same_code = [](const XidCount& one, const XidCount& other) {
    return one.gpu == other.gpu && one.code == other.code;
  };
  return a.asked == b.asked && a.gpus.size() == b.gpus.size() &&
         std::ranges::equal(a.xids, b.xids, same_code);
}

}  // namespace podgpu
