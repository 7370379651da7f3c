// The meaning of an XID code, as dcgm-exporter writes it into its `err_msg` label, and the
// recommended action.
//
// Dashboards match these texts, so they are kept exactly, including odd ones.  Codes outside the
// table are "Unknown Error".  Pure data; any thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace podgpu {

std::string_view XidText(int64_t code);

// Returns "none", "restart_app", "reset_gpu" or "reboot_node"; "investigate" if the code alone does
// not decide.  It is a first step, not a diagnosis: a code that comes again on the same GPU needs
// more.
std::string_view XidAction(int64_t code);

}  // namespace podgpu
