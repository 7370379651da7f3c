// A fake DCGM engine for tests: a DcgmTable whose functions answer what the test has set.
//
// A test adds devices and raw values, passes Library() to a DcgmSource, and checks afterwards which
// calls were made.  Watches are respected: a value is returned only for a watched device and field.
// Calls can be made to fail, to hang, to return garbage, or to kill the engine (fake_fault.h).  The
// vendor's functions have no context argument, so only one FakeDcgm may exist at a time in a
// process.  Thread safe.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <list>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "abi/dcgm_health.h"
#include "abi/load.h"
#include "source/testing/fake_devices.h"
#include "source/testing/fake_fault.h"

namespace podgpu {

class FakeDcgm {
 public:
  FakeDcgm();
  ~FakeDcgm();
  FakeDcgm(const FakeDcgm&) = delete;
  FakeDcgm& operator=(const FakeDcgm&) = delete;

  // Returns the library from which to make a source.
  abi::DcgmLibrary Library() const;

  // Runs `change`, which sets members below, while no call runs.
  void Change(const std::function<void()>& change) {
    const std::lock_guard<std::mutex> lock(mutex_);
    change();
  }

  // The node's devices; changed by Change while calls may come from other threads.
  std::vector<FakeGpu> gpus;
  std::vector<FakeGpuInstance> instances;
  std::vector<FakeSwitch> switches;
  std::map<uint32_t, std::vector<uint32_t>> links_up;  // By GPU id, from 0.
  std::map<uint32_t, std::vector<uint32_t>>
      cpus;  // Cores by CPU id; empty: the engine lacks the module.
  std::string driver_version = "570.133.20";
  std::string version = "4.6.0";
  std::set<uint16_t> profiling_fields;  // Empty: the engine lacks the profiling module (-33).
  std::set<uint16_t> unknown_fields;    // Ids that the library and the engine lack.
  std::set<uint16_t> engine_unknown;    // Ids that only the engine lacks.
  std::set<uint16_t> unwatchable;       // Ids whose watch is refused with `unwatchable_code`.
  abi::dcgmReturn_t unwatchable_code = abi::DCGM_ST_REQUIRES_ROOT;
  std::set<uint32_t> without_profiler;  // GPUs for which a profiling field is refused (-33).
  bool has_nvml = true;                 // False: the engine has no GPU and no instance (-56).
  abi::DcgmGeneration generation = abi::DcgmGeneration::k4;
  std::set<abi::DcgmCapability> without;           // Capabilities that the library lacks.
  std::vector<abi::dcgmIncidentInfo_t> incidents;  // Of the health watches.
  std::vector<std::vector<int>> peers;             // By GPU and GPU; empty: not supported.
  int64_t sample_time_us = 1'700'000'000'000'000;  // Of values without a time of their own.

  // Sets raw values, which are returned unchanged.  `group` is abi::DCGM_FE_GPU or DCGM_FE_GPU_I.
  void SetInt64(int group, uint32_t entity, uint16_t field, int64_t number);
  void SetDouble(int group, uint32_t entity, uint16_t field, double number);
  void SetString(int group, uint32_t entity, uint16_t field, const std::string& text);
  void SetStatus(int group, uint32_t entity, uint16_t field, abi::dcgmReturn_t status);
  void SetRaw(const abi::dcgmFieldValue_v2& raw);  // Keyed by its own entity and field.
  // Adds a sample with that time as the newest of its cell.  Older samples are returned by
  // dcgmGetValuesSince_v2.
  void AddSample(uint32_t gpu, uint16_t field, int64_t number, int64_t stamp_us);

  // Applies `change` to each reply for this cell.
  void Tamper(int group, uint32_t entity, uint16_t field,
              std::function<void(abi::dcgmFieldValue_v2&)> change);

  // Every call of `symbol` returns `code`, or only the next `times` calls.
  void Fail(const std::string& symbol, abi::dcgmReturn_t code, int times = -1);
  void Heal(const std::string& symbol);
  // The next call of `symbol` hangs until dcgmDisconnect, and then returns -21.
  void Hang(const std::string& symbol);
  void AwaitHanging();  // Waits until such a call hangs.

  // Every call of `symbol` meets `fault` until Heal.
  void Inject(const std::string& symbol, FakeFault fault);
  // Lets the calls that block now return; later calls block again.
  void Free(const std::string& symbol);
  // Called under the fake's lock when a call of `thread` begins to block and when it stops
  // blocking.
  std::function<void(std::thread::id thread, bool blocks)> on_block;
  // Makes the reply for a watched cell that the test has not set; returns false when there is no
  // sample.
  std::function<bool(abi::dcgmFieldValue_v2&)> measure;

  // Kills the engine: every call returns -21 until the next connect; groups are gone.
  void Kill();
  // Kills the engine; connects fail until it is up again.
  void SetDown(bool down);
  // Drops groups and watches but keeps the connection, like an engine that restarted behind a
  // proxy.
  void ForgetGroups();
  // Drops the watches of an entity and removes it from all groups, as an engine does for a GPU that
  // is unbound.
  void ForgetEntity(int group, uint32_t entity);

  // Symbols that reach an engine, in call order.
  std::vector<std::string> calls() const;
  std::set<std::string> called() const;  // All symbols.
  int CountOf(const std::string& symbol) const;
  void ForgetCalls();
  // The current watches.
  bool IsWatched(int group, uint32_t entity, uint16_t field) const;
  double KeepOf(uint16_t field) const;  // Seconds; 0 when not watched.
  long long PeriodOf(uint16_t field) const;
  size_t group_count() const;
  size_t field_group_count() const;
  std::string last_address() const;  // Of the last connect.
  uint32_t last_timeout_ms() const;
  std::vector<uint32_t> live_flags() const;  // Of each dcgmEntitiesGetLatestValues.
  bool reverse_replies = false;              // Replies are in reverse order.
  bool omit_last_reply = false;              // Does not write the last value of each reply.

 private:
  friend struct FakeDcgmCalls;
  friend struct FakeDcgmFunctions;
  friend struct FakeDcgmFindings;
  using Key = std::tuple<int, uint32_t, uint16_t>;
  struct Group {
    std::set<std::pair<int, uint32_t>> members;
  };
  struct Watch {
    uint64_t group;
    uint64_t fields;
    long long period_us;
    double keep_s;
    std::set<std::pair<int, uint32_t>> dropped;  // Members for which it was dropped.
  };
  struct Failure {
    abi::dcgmReturn_t code;
    int times;
  };
  struct Blocked {
    std::string symbol;
    bool until_disconnect;
    std::thread::id thread;
    bool is_free = false;
  };

  // Records the call and returns the code with which it must return at once.  May hang.
  abi::dcgmReturn_t Enter(const std::string& symbol, std::unique_lock<std::mutex>& lock);
  abi::dcgmReturn_t Meet(const std::string& symbol, std::unique_lock<std::mutex>& lock);
  void Block(const std::string& symbol, bool until_disconnect, std::unique_lock<std::mutex>& lock);
  template <typename Predicate>
  void FreeLocked(Predicate is_meant);
  void SpoilLocked(const std::string& symbol, std::initializer_list<FakeOut> outs);
  void KillLocked();
  void ForgetGroupsLocked();
  void DisconnectLocked();
  bool IsWatchedLocked(const Key& key) const;
  std::vector<abi::dcgmFieldValue_v2> AnswerSince(const Key& key, int64_t since_us) const;
  abi::dcgmFieldValue_v2 Answer(int group, uint32_t entity, uint16_t field, bool live) const;

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<Key, abi::dcgmFieldValue_v2> values_;
  std::map<Key, std::vector<abi::dcgmFieldValue_v2>> samples_;
  std::map<Key, std::function<void(abi::dcgmFieldValue_v2&)>> changes_;
  std::map<std::string, Failure> failures_;
  std::set<std::string> to_hang_;
  std::map<std::string, FakeFault> faults_;
  std::list<Blocked> blocked_;
  bool connected_ = false;
  bool down_ = false;
  uint64_t next_id_ = 2;
  std::map<uint64_t, Group> groups_;
  std::map<uint64_t, std::vector<uint16_t>> field_groups_;
  std::set<std::string> field_group_names_;
  std::set<uint64_t> health_groups_;
  std::vector<Watch> watches_;
  std::vector<std::string> calls_;
  std::set<std::string> called_;
  std::string last_address_;
  uint32_t last_timeout_ms_ = 0;
  std::vector<uint32_t> live_flags_;
};

}  // namespace podgpu
