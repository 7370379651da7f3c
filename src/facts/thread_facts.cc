#include "facts/thread_facts.h"

#include <array>

namespace podgpu {

std::string_view SourceCallName(SourceCall call) {
  constexpr std::array<std::string_view, kSourceCallCount> kNames = {"open", "discover", "watch",
                                                                     "read"};
  return kNames[static_cast<size_t>(call)];
}

}  // namespace podgpu
