// Compresses a page with ISA-L at level 1, and decompresses what other programs send.
//
// A page of 6,720 series shrinks to a tenth.  This takes about five times as long as rendering the
// page; zlib's default level takes a hundred times as long.  Needs about 0.5 MiB during the call
// and keeps no memory.  Pure functions; any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace podgpu {

// Returns `bytes` as one gzip member.
std::string Gzip(std::string_view bytes);

// Decompresses one gzip member. kInvalidArgument if `compressed` is not valid gzip;
// kResourceExhausted if the result is larger than `most_bytes`.
StatusOr<std::string> Inflate(std::string_view compressed, size_t most_bytes);

}  // namespace podgpu
