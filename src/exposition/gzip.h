// Compresses a page once, as cheaply as is worth it: ISA-L at level 1; and the way back, for what
// other programs send.
//
// A page of 6,720 series shrinks to a tenth in about five times the time that rendering it takes;
// zlib's usual level would take a hundred.  Needs some 0.5 MiB while it works and keeps nothing.
// Pure function; any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace podgpu {

// `bytes` as one gzip member.
std::string Gzip(std::string_view bytes);

// What was compressed as one gzip member, whoever did it.  kInvalidArgument where `compressed` is
// none, kResourceExhausted above `most_bytes`.
StatusOr<std::string> Inflate(std::string_view compressed, size_t most_bytes);

}  // namespace podgpu
