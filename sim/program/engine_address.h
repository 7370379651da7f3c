// Where a server listens by default when something else is there already.
//
// For default addresses: a scenario's engine is at DCGM's usual port, and a second node, or a real
// engine, may have it.  Another program can take the port between the look and its use;
// then the server says that it is taken.  Any thread.
#pragma once

#include <string>

namespace podgpu::sim {

// `address`, "host:port", where that can be listened on, or cannot for another reason than that it
// is in use; else "host:0", with which a server takes a free port.
std::string FreeAddress(const std::string& address);

}  // namespace podgpu::sim
