// One vendor library under the fault matrix: the verbs that the matrix needs of it.
//
// The matrix (fault_case.h) knows no library; whoever adds a source fills another Vendor with
// functions over its own fake, and every call that the source makes becomes a row.  All verbs are
// called by the one test thread while the exporter's threads are quiet.
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

// Which MIG instances there are, in MIG mode or, as a library may say in error, outside it.
enum class Layout : uint8_t {
  kUsual,
  kOther,
  kNone,
  kUsualOutsideMig,
  kOtherOutsideMig,
  kNoneOutsideMig,
};
inline constexpr size_t kLayoutCount = 6;

// A healthy node as the vendor's library tells of it, to be broken.
struct VendorNode {
  std::function<StatusOr<std::unique_ptr<Source>>()> open_source;
  std::function<std::set<std::string>()> called;  // Symbols called since the last ForgetCalls.
  std::function<void()> forget_calls;
  std::function<void(const std::string& symbol, const FakeFault& fault)> inject;
  std::function<void(const std::string& symbol)> free;  // Lets blocked calls go on.
  std::function<void(const std::string& symbol)> heal;
  std::function<void(Layout layout)> set_layout;
  std::function<void(bool down)> set_down;  // The engine dies; may be started again.
};

// What a node needs of its surroundings.
struct NodeSeams {
  Clock& clock;
  ThreadTally written_off;
  std::chrono::milliseconds stale_after{};
  // Told when a call of `thread` is held up, and when it goes on.
  std::function<void(std::thread::id thread, bool blocks)> on_block;
  // The same of a thread that nobody waits for.
  std::function<void(bool blocks)> on_detached_block;
};

struct Vendor {
  std::string name;
  std::vector<std::string> modes;  // Ways to reach it: "embedded", "remote".
  std::function<std::unique_ptr<VendorNode>(size_t mode, NodeSeams seams)> make_node;
  std::set<std::string> symbols;   // Every entry point that the program may call.
  std::set<std::string> optional;  // Those that no recorded run needs to call.
  std::function<std::vector<FaultColumn>(const std::string& symbol)> columns;
  std::string counters;  // What is read, as a counters file has it.
  // Threads that the source keeps and that never sleep on the clock; 0: it has none, and all other
  // threads do.
  int idle_threads = 0;
  // Periods until a page is whole again; the longest pause between two attempts is one.
  int steps_to_heal = 2;
};

}  // namespace podgpu
