// What a call into a fake vendor library can meet instead of its plain answer.
//
// A test hands a FakeFault to a fake by the symbol that shall meet it; every call of the symbol
// does until the fake is healed.  The parts combine: a call that blocks may answer a code
// afterwards, or rightly but late.  Plain data; the fake calls `spoil` under its own lock, on the
// calling thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace podgpu {

// A place that a call writes its answer to.
struct FakeOut {
  void* bytes = nullptr;
  size_t size = 0;
};

struct FakeFault {
  enum class Block : uint8_t { kNone, kUntilDisconnect, kUntilFreed };

  int code = 0;  // What is answered; 0: what would be without the fault.
  Block block = Block::kNone;
  bool kills_engine = false;                              // The engine dies during the call.
  std::function<void(std::span<const FakeOut>)> spoil{};  // Changes a good answer.
};

}  // namespace podgpu
