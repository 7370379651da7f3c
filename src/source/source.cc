#include "source/source.h"

namespace podgpu {

bool LostConnection(const Status& status) { return absl::IsUnavailable(status); }

}  // namespace podgpu
