// What an XID code means, in the words that dcgm-exporter puts into its `err_msg` label.
//
// Dashboards match these words, so they are kept exactly, odd ones included.  Codes outside the
// table are "Unknown Error".  Pure data; any thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace podgpu {

std::string_view XidText(int64_t code);

}  // namespace podgpu
