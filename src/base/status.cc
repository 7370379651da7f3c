#include "base/status.h"

#include <cstdio>
#include <cstdlib>

namespace podgpu {

void CheckFailed(std::string_view condition, const char* file, int line) {
  std::fprintf(
      stderr,
      "podgpu stops: broken invariant \"%.*s\" at %s:%d. This is a bug; report it with this line\n",
      static_cast<int>(condition.size()), condition.data(), file, line);
  std::abort();
}

}  // namespace podgpu
