// Makes Asio allocate what it keeps for descriptors in one place.
//
// Asio allocates a small object for each descriptor and keeps it for the next one after the
// descriptor is closed. Each of these objects would lie among the buffers of its connection, so one
// page per connection of a crowd could never be given back. This class lets Asio allocate many of
// the objects one after the other. Used on the server's thread.
#pragma once

#include <cstddef>

#include "http/sockets.h"

namespace podgpu {

class DescriptorMemory {
 public:
  // Borrows `io`, which outlives this.
  explicit DescriptorMemory(boost::asio::io_context& io) : io_(io) {}

  // Called when `open` connections are open, before the next is accepted.
  void ReserveBeyond(size_t open);

 private:
  // So few connections are no crowd: a node has no more at one time.
  static constexpr size_t kFew = 8;

  boost::asio::io_context& io_;
  size_t reserved_ = kFew;  // Asio has objects for so many connections, or will allocate singly.
};

}  // namespace podgpu
