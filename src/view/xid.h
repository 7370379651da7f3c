// What an XID code means, in the words that dcgm-exporter puts into its `err_msg` label, and what
// is to be done about it.
//
// Dashboards match these words, so they are kept exactly, odd ones included.  Codes outside the
// table are "Unknown Error".  Pure data; any thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace podgpu {

std::string_view XidText(int64_t code);

// "none", "restart_app", "reset_gpu" or "reboot_node"; "investigate" where that is not told by the
// code alone.  A first step, not a diagnosis: the same code again on one GPU asks for more.
std::string_view XidAction(int64_t code);

}  // namespace podgpu
