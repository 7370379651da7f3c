#include "tests/gunzip.h"

#include <array>

#include <zlib.h>

namespace podgpu {

std::optional<std::string> Gunzip(std::string_view compressed) {
  z_stream stream = {};
  constexpr int kGzipOnly = 16 + MAX_WBITS;
  if (inflateInit2(&stream, kGzipOnly) != Z_OK) {
    return std::nullopt;
  }
  std::string input(compressed);
  stream.next_in = reinterpret_cast<Bytef*>(input.data());
  stream.avail_in = static_cast<uInt>(input.size());
  std::string out;
  std::array<char, 65536> part;
  int result = Z_OK;
  while (result == Z_OK) {
    stream.next_out = reinterpret_cast<Bytef*>(part.data());
    stream.avail_out = static_cast<uInt>(part.size());
    result = inflate(&stream, Z_NO_FLUSH);
    out.append(part.data(), part.size() - stream.avail_out);
  }
  const bool whole = result == Z_STREAM_END && stream.avail_in == 0;
  inflateEnd(&stream);
  return whole ? std::optional(out) : std::nullopt;
}

}  // namespace podgpu
