// A fault that a call into a fake vendor library meets in place of its normal answer.
//
// A test injects a FakeFault for one symbol; every call of that symbol meets it until the fake is
// healed.  Faults combine: a call that blocks may return an error code afterwards, or the right
// answer too late.  Plain data; the fake calls `spoil` under its own lock, on the calling thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace podgpu {

// Memory that a call writes its answer to.
struct FakeOut {
  void* bytes = nullptr;
  size_t size = 0;
};

struct FakeFault {
  enum class Block : uint8_t { kNone, kUntilDisconnect, kUntilFreed };

  int code = 0;  // The returned code; 0: the code without the fault.
  Block block = Block::kNone;
  bool kills_engine = false;                              // The engine dies during the call.
  std::function<void(std::span<const FakeOut>)> spoil{};  // Changes a good answer.
};

}  // namespace podgpu
