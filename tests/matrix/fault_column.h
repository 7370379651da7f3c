// What one call of a vendor library is made to meet: a column of the fault matrix.
//
// A column knows how to make the fault for a symbol, what kind it is (the judge asks different
// things of each kind), and the word by which the page may name it.  Plain data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "source/testing/fake_fault.h"

namespace podgpu {

enum class FaultKind : uint8_t {
  kCode,      // Answers a code of the vendor's.
  kGarbage,   // Answers well, and what it writes is nonsense.
  kSentinel,  // Answers well with what stands for "no value".
  kBlock,     // Does not return by itself.
  kVanish,    // The engine dies during the call.
  kLate,      // Answers rightly, after its deadline.
};

struct FaultColumn {
  std::string name;  // "DCGM -21", "random bytes 1", "blocks until freed"
  FaultKind kind = FaultKind::kCode;
  FakeFault fault;
  bool sticks = false;    // What was said holds until the next connection.
  bool may_pass = false;  // What it writes cannot be told from a measurement.
};

}  // namespace podgpu
