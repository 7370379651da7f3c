// Sharing out a whole number so that the parts add up to it again.
//
// Each part is the exact share rounded down; what is left over goes, one unit each, to the largest
// remainders (ties to the first).  Exact for any 64-bit weights: products have 128 bits.  The
// object keeps its memory, so that a tick that shares out takes none.  Pure but for that; one
// thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace podgpu {

class Apportioner {
 public:
  // The shares of `total` in proportion to `weights`, which add up to `total`; empty when every
  // weight is zero.  Who has no weight gets nothing.  Valid until the next call.
  std::span<const uint64_t> ByWeight(uint64_t total, std::span<const uint64_t> weights);

  // The same for `count` equal weights; empty when there are none.
  std::span<const uint64_t> Equally(uint64_t total, size_t count);

 private:
  __extension__ using Wide = unsigned __int128;
  struct Remainder {
    Wide size = 0;
    size_t index = 0;
  };

  std::vector<uint64_t> shares_;
  std::vector<Remainder> remainders_;
};

}  // namespace podgpu
