#include "http/descriptor_memory.h"

#include <sys/eventfd.h>
#include <vector>

#include <boost/asio/posix/basic_stream_descriptor.hpp>

#include "base/file_descriptor.h"

namespace podgpu {
namespace {

using Descriptor = boost::asio::posix::basic_stream_descriptor<Executor>;

// Objects of 168 bytes each (Boost 1.81): more than a page of them. So many descriptors more are
// open for some microseconds.
constexpr size_t kAtOnce = 32;

}  // namespace

void DescriptorMemory::ReserveBeyond(size_t open) {
  if (open < reserved_) {
    return;
  }
  std::vector<Descriptor> held;
  held.reserve(kAtOnce);
  while (held.size() < kAtOnce) {
    FileDescriptor event(::eventfd(0, EFD_CLOEXEC));
    if (event.get() < 0) {
      break;  // No descriptor is left; Asio allocates singly.
    }
    Descriptor& descriptor = held.emplace_back(io_);
    ErrorCode error;
    descriptor.assign(event.get(), error);
    if (error) {
      break;
    }
    event.Release();
  }
  reserved_ = open + held.size();
}

}  // namespace podgpu
