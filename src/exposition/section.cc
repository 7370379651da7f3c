#include "exposition/section.h"

#include "base/status.h"

namespace podgpu {

void AppendAt(size_t slot, Value value, std::vector<Value>& slots) {
  PODGPU_CHECK(slot == slots.size());
  slots.push_back(value);
}

}  // namespace podgpu
