// The default address of a server when its port is already in use.
//
// For default addresses: a scenario's engine uses DCGM's usual port, which a second node or a real
// engine may occupy.  Another program can take the port between this check and its use; then the
// server reports that.  Any thread.
#pragma once

#include <string>

namespace podgpu::sim {

// Returns `address`, "host:port", unless it is in use; then "host:0", with which a server takes a
// free port.  Other errors of the address are left to the server.
std::string FreeAddress(const std::string& address);

}  // namespace podgpu::sim
