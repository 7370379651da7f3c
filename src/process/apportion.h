// Divides a whole number into shares that add up to it exactly.
//
// Largest-remainder method: each share is rounded down, then the units that are left go, one each,
// to the largest remainders (ties: the first). Without it, rounding would lose or invent
// millijoules. Exact for any 64-bit weights, because products have 128 bits. The object keeps its
// memory, so a tick allocates nothing. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace podgpu {

class Apportioner {
 public:
  // Returns the shares of `total` in proportion to `weights`; they add up to `total`. A weight of
  // zero gets zero. Empty when every weight is zero. Valid until the next call.
  std::span<const uint64_t> ByWeight(uint64_t total, std::span<const uint64_t> weights);

  // Like ByWeight with `count` equal weights; empty when `count` is zero.
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
