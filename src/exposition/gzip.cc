#include "exposition/gzip.h"

#include <algorithm>
#include <limits>
#include <memory>

#include <isa-l/igzip_lib.h>

#include "base/status.h"

namespace podgpu {
namespace {

constexpr size_t kSpareBytes = size_t{64} * 1024;
constexpr size_t kHeadBytes = 512;

}  // namespace

std::string Gzip(std::string_view bytes) {
  PODGPU_CHECK(bytes.size() < std::numeric_limits<uint32_t>::max() / 2);
  const auto work = std::make_unique_for_overwrite<uint8_t[]>(ISAL_DEF_LVL1_DEFAULT);
  // 80 KiB, of which the library initialises what it needs.
  const auto stream = std::make_unique_for_overwrite<isal_zstream>();
  isal_deflate_init(stream.get());
  stream->level = 1;
  stream->level_buf = work.get();
  stream->level_buf_size = ISAL_DEF_LVL1_DEFAULT;
  stream->gzip_flag = IGZIP_GZIP;
  stream->end_of_stream = 1;
  // ISA-L reads through a pointer to non-const.
  stream->next_in = const_cast<uint8_t*>(reinterpret_cast<const uint8_t*>(bytes.data()));
  stream->avail_in = static_cast<uint32_t>(bytes.size());

  std::string out;
  size_t used = 0;
  while (stream->internal_state.state != ZSTATE_END) {
    out.resize(used + bytes.size() / 4 + std::min(kSpareBytes, bytes.size() / 4 + kHeadBytes));
    stream->next_out = reinterpret_cast<uint8_t*>(out.data()) + used;
    stream->avail_out = static_cast<uint32_t>(out.size() - used);
    PODGPU_CHECK(isal_deflate(stream.get()) == COMP_OK);
    used = out.size() - stream->avail_out;
  }
  out.resize(used);
  out.shrink_to_fit();
  return out;
}

StatusOr<std::string> Inflate(std::string_view compressed, size_t most_bytes) {
  if (compressed.size() > std::numeric_limits<uint32_t>::max()) {
    return absl::ResourceExhaustedError("more than 4 GiB of gzip");
  }
  const auto state = std::make_unique<inflate_state>();
  isal_inflate_init(state.get());
  state->crc_flag = ISAL_GZIP;
  state->next_in = const_cast<uint8_t*>(reinterpret_cast<const uint8_t*>(compressed.data()));
  state->avail_in = static_cast<uint32_t>(compressed.size());
  std::string out;
  size_t used = 0;
  while (state->block_state != ISAL_BLOCK_FINISH) {
    if (used > most_bytes) {
      return absl::ResourceExhaustedError("the decompressed data is larger than the limit");
    }
    out.resize(used + std::min(most_bytes + 1 - used, used + kSpareBytes));
    state->next_out = reinterpret_cast<uint8_t*>(out.data()) + used;
    state->avail_out = static_cast<uint32_t>(out.size() - used);
    const uint32_t room = state->avail_out;
    const uint32_t left = state->avail_in;
    const int result = isal_inflate(state.get());
    used = out.size() - state->avail_out;
    const bool stuck = state->avail_out == room && state->avail_in == left;
    if (result != ISAL_DECOMP_OK || (stuck && state->block_state != ISAL_BLOCK_FINISH)) {
      return absl::InvalidArgumentError("the data is not complete, valid gzip");
    }
  }
  if (used > most_bytes) {
    return absl::ResourceExhaustedError("the decompressed data is larger than the limit");
  }
  out.resize(used);
  return out;
}

}  // namespace podgpu
