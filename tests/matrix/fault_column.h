// A fault that a call of a vendor library can meet: a column of the fault matrix.
//
// A column has the fault to inject for a symbol, its kind (each kind is judged differently), and
// the name by which the status page may mention it.  Plain data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "source/testing/fake_fault.h"

namespace podgpu {

enum class FaultKind : uint8_t {
  kCode,      // Returns an error code of the vendor.
  kGarbage,   // Returns success and writes garbage.
  kSentinel,  // Returns success and writes values that mean "no value".
  kBlock,     // Blocks.
  kVanish,    // The engine dies during the call.
  kLate,      // Returns the right answer after its deadline.
};

struct FaultColumn {
  std::string name;  // "DCGM -21", "random bytes 1", "blocks until freed"
  FaultKind kind = FaultKind::kCode;
  FakeFault fault;
  bool sticks = false;    // The program keeps the answer until the next connection.
  bool may_pass = false;  // The garbage cannot be distinguished from a measurement.
};

}  // namespace podgpu
