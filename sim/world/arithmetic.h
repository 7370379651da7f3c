// The few functions of real numbers that the physics needs, with the same bits on every machine.
//
// The platform's mathematics library is not used: its results differ between versions and machines,
// and an image or a reading must not differ.  Uses only correctly rounded + - x / and integers,
// without contraction (the targets compile with -ffp-contract=off).  Pure functions; any thread.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace podgpu::sim {

// e^x for x <= 0, within a few units in the last place; 0 below -700.
inline double ExpOfNegative(double x) {
  constexpr double kLn2High = 0x1.62e42fefa0000p-1;
  constexpr double kLn2Low = 0x1.cf79abc9e3b3ap-40;
  constexpr double kLog2E = 0x1.71547652b82fep+0;
  constexpr std::array<double, 15> kOverFactorial = {1.0,
                                                     1.0,
                                                     1.0 / 2,
                                                     1.0 / 6,
                                                     1.0 / 24,
                                                     1.0 / 120,
                                                     1.0 / 720,
                                                     1.0 / 5'040,
                                                     1.0 / 40'320,
                                                     1.0 / 362'880,
                                                     1.0 / 3'628'800,
                                                     1.0 / 39'916'800,
                                                     1.0 / 479'001'600,
                                                     1.0 / 6'227'020'800,
                                                     1.0 / 87'178'291'200};
  if (!(x > -700.0)) {
    return 0.0;
  }
  const auto power = static_cast<int64_t>(x * kLog2E - 0.5);  // Rounds to nearest, x being <= 0.
  const auto scale = static_cast<double>(power);
  const double rest = (x - scale * kLn2High) - scale * kLn2Low;
  double sum = kOverFactorial.back();
  for (size_t n = kOverFactorial.size() - 1; n > 0; --n) {
    sum = sum * rest + kOverFactorial[n - 1];
  }
  return sum * std::bit_cast<double>(static_cast<uint64_t>(power + 1023) << 52);
}

// base^exponent by repeated squaring, for 0 <= base <= 1.
inline double PowerOf(double base, int64_t exponent) {
  double result = 1.0;
  for (; exponent > 0 && result != 0.0; exponent >>= 1) {
    if ((exponent & 1) != 0) {
      result *= base;
    }
    base *= base;
  }
  return result;
}

__extension__ typedef __int128 Dividend;

// The quotient rounded towards zero; fast as long as the dividend fits into 64 bits.
inline int64_t Quotient(Dividend dividend, int64_t divisor) {
  const auto narrow = static_cast<int64_t>(dividend);
  return narrow == dividend ? narrow / divisor : static_cast<int64_t>(dividend / divisor);
}

// The largest integer whose cube is at most `value`.
inline uint64_t CubeRoot(uint64_t value) {
  uint64_t root = 0;
  for (int shift = 63; shift >= 0; shift -= 3) {
    root *= 2;
    const uint64_t step = 3 * root * (root + 1) + 1;
    if ((value >> shift) >= step) {
      value -= step << shift;
      ++root;
    }
  }
  return root;
}

}  // namespace podgpu::sim
