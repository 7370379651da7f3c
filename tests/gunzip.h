// Decompresses gzip with zlib, for tests of code that compresses with another library.
//
// Reads one whole gzip member and checks its checksum and length, as any client does.  For tests;
// any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace podgpu {

// The decompressed bytes; empty when `compressed` is not exactly one valid gzip member.
std::optional<std::string> Gunzip(std::string_view compressed);

}  // namespace podgpu
