// What a FakeSource does, as a test dictates it: which devices there are, what each call answers,
// and whether it returns.
//
// Every call is recorded.  A call can be told to block; Release lets it go on, and so does
// Interrupt when the test wants a source that can be freed.  Owned by the test, which steers it
// while the source thread runs: thread safe.  For tests only.
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/published.h"
#include "source/source.h"

namespace podgpu {

// What a FakeSource does, owned by the test and shared by all sources that its opener makes.
class FakeDriver {
 public:
  FakeDriver() = default;

  // The UUID of GPU `index`, in the vendor's form.
  static std::string Uuid(uint32_t index) {
    return "GPU-00000000-0000-0000-0000-00000000000" + std::to_string(index);
  }

  // GPUs with ids from 0 on, without MIG.
  static Topology Gpus(uint32_t count) {
    Topology topology;
    for (uint32_t i = 0; i < count; ++i) {
      Gpu gpu;
      gpu.gpu_id = i;
      gpu.uuid = Uuid(i);
      gpu.model = "NVIDIA H100 80GB HBM3";
      gpu.pci_bus_id = "00000000:1B:00.0";
      topology.gpus.push_back(gpu);
    }
    NumberEntities(topology);
    return topology;
  }

  void SetTopology(Topology topology) {
    std::scoped_lock lock(mutex_);
    topology_ = std::move(topology);
  }
  void FailDiscover(Status status) {
    std::scoped_lock lock(mutex_);
    discover_ = std::move(status);
  }
  void FailRead(Status status) {
    std::scoped_lock lock(mutex_);
    read_ = std::move(status);
  }
  void RefuseProfiling(std::string reason) {
    std::scoped_lock lock(mutex_);
    watch_ = {true, std::move(reason)};
  }
  // A field is refused that a node that is well would have.
  void RefuseField(std::string reason) {
    std::scoped_lock lock(mutex_);
    watch_ = {.reason = std::move(reason), .is_fault = true};
  }
  // The source reads NVML in place of a host engine.
  void StandIn(std::string why, std::string remedy) {
    std::scoped_lock lock(mutex_);
    watch_ = {.stand_in = std::move(why), .remedy = std::move(remedy)};
  }
  void AcceptProfiling() {
    std::scoped_lock lock(mutex_);
    watch_ = {};
  }
  // The values of this entity are blank from now on, until Speak.
  void Silence(uint16_t entity) {
    std::scoped_lock lock(mutex_);
    silent_ = entity;
  }
  void Speak() {
    std::scoped_lock lock(mutex_);
    silent_.reset();
  }
  // Every value of the next readings.
  void SetValue(Value value) {
    std::scoped_lock lock(mutex_);
    value_ = value;
  }
  // From now on Read does not return, until Release, or Interrupt if `interruptible`.
  void BlockReads(bool interruptible) {
    std::scoped_lock lock(mutex_);
    blocked_ = true;
    interruptible_ = interruptible;
  }
  // From now on Discover does not return, until Release.
  void BlockDiscover() {
    std::scoped_lock lock(mutex_);
    discover_blocked_ = true;
  }
  void AwaitBlockedDiscover() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return discover_waiting_; });
  }
  void Release() {
    std::scoped_lock lock(mutex_);
    blocked_ = false;
    discover_blocked_ = false;
    changed_.notify_all();
  }
  void AwaitBlockedRead() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return waiting_; });
  }
  // What the last Discover was to look for.
  PartKinds kinds() const {
    std::scoped_lock lock(mutex_);
    return kinds_;
  }
  int discoveries() const {
    std::scoped_lock lock(mutex_);
    return discoveries_;
  }
  int watches() const {
    std::scoped_lock lock(mutex_);
    return watches_;
  }
  // What SetProfiling and SetCollections were told last, and what ReleaseReason says.
  std::atomic<bool> profiles = true;
  Published<FieldCollections> collections;
  std::atomic<const char*> need = "";
  std::atomic<int> let_gos = 0;
  int interrupts() const {
    std::scoped_lock lock(mutex_);
    return interrupts_;
  }

 private:
  friend class FakeSource;
  mutable std::mutex mutex_;  // Guards everything below; the waits need a plain one.
  std::condition_variable changed_;
  Topology topology_ = Gpus(2);
  PartKinds kinds_;
  Status discover_, read_;
  WatchResult watch_;
  Value value_ = Value::OfInt64(42);
  std::optional<uint16_t> silent_;
  bool discover_blocked_ = false, discover_waiting_ = false;
  bool blocked_ = false, interruptible_ = false, waiting_ = false, freed_ = false;
  int discoveries_ = 0, watches_ = 0, interrupts_ = 0;
};

}  // namespace podgpu
