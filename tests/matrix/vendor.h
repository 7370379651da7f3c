// The functions that the fault matrix needs from one vendor library.
//
// The matrix (fault_case.h) is independent of the library.  A new source adds another Vendor with
// functions over its own fake, and every call that the source makes becomes a row.  All functions
// are called on the test thread while the exporter's threads are quiet.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/foreign_calls.h"
#include "base/status.h"
#include "source/source.h"
#include "tests/matrix/fault_column.h"

namespace podgpu {

// The MIG instances: in MIG mode or, as a faulty library may report, outside it.
enum class Layout : uint8_t {
  kUsual,
  kOther,
  kNone,
  kUsualOutsideMig,
  kOtherOutsideMig,
  kNoneOutsideMig,
};
inline constexpr size_t kLayoutCount = 6;

// A healthy node of the vendor's fake, with functions that break and heal it.
struct VendorNode {
  std::function<StatusOr<std::unique_ptr<Source>>()> open_source;
  std::function<std::set<std::string>()> called;  // Symbols called since the last ForgetCalls.
  std::function<void()> forget_calls;
  std::function<void(const std::string& symbol, const FakeFault& fault)> inject;
  std::function<void(const std::string& symbol)> free;  // Lets blocked calls return.
  std::function<void(const std::string& symbol)> heal;
  std::function<void(Layout layout)> set_layout;
  std::function<void(bool down)> set_down;  // The engine dies, or may be started again.
};

// What a node gets from its environment.
struct NodeSeams {
  Clock& clock;
  ThreadTally written_off;
  std::chrono::milliseconds stale_after{};
  // Called when a call of `thread` blocks and when it continues.
  std::function<void(std::thread::id thread, bool blocks)> on_block;
  // The same for a thread for which no other thread waits.
  std::function<void(bool blocks)> on_detached_block;
};

struct Vendor {
  std::string name;
  std::vector<std::string> modes;  // Ways to connect: "embedded", "remote".
  std::function<std::unique_ptr<VendorNode>(size_t mode, NodeSeams seams)> make_node;
  std::set<std::string> symbols;   // Every symbol that the program may call.
  std::set<std::string> optional;  // Symbols that no recorded run needs to call.
  // Symbols that a thread with a pace of its own calls in every scene, perhaps not while podgpu's
  // calls are recorded.
  std::set<std::string> of_every_scene;
  std::function<std::vector<FaultColumn>(const std::string& symbol)> columns;
  std::string counters;  // The metrics to read, in the format of a counters file.
  // Number of the source's threads that never sleep on the clock; 0: all threads sleep on it.
  int idle_threads = 0;
  // Periods until a page is complete again; the longest pause between two attempts is one period.
  int steps_to_heal = 2;
};

}  // namespace podgpu
