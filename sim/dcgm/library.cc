#include "sim/dcgm/library.h"

#include <algorithm>
#include <chrono>

namespace podgpu::sim {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kDefaultConnectTimeout{5000};
constexpr int kEmbeddedEndMs = 1500;  // DCGM 4.6.0, seen: 1.5 to 1.8 s.

EngineDeadlines DeadlinesOf(const RunDirectory& run, uint32_t timeout_ms) {
  const int64_t scale = std::max<int64_t>(run.time_scale(), 1);
  EngineDeadlines deadlines;
  deadlines.connect = timeout_ms != 0 ? milliseconds(timeout_ms) : kDefaultConnectTimeout;
  deadlines.login /= scale;
  deadlines.request /= scale;
  return deadlines;
}

}  // namespace

Library& TheLibrary() {
  // Never destroyed: threads of the client may be in a call when the process ends.
  // NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): the interface is global.
  static Library* const library = std::make_unique<Library>().release();
  return *library;
}

int Library::Init() {
  const std::lock_guard lock(mutex_);
  initialised_ = true;
  return abi::DCGM_ST_OK;
}

std::shared_ptr<RunDirectory> Library::OpenRun() {
  std::string error;
  std::shared_ptr<RunDirectory> run = RunDirectory::Open("", error);
  const std::lock_guard lock(mutex_);
  run_ = run;
  return run;
}

int Library::Meet(std::string_view call) {
  std::shared_ptr<RunDirectory> run;
  {
    const std::lock_guard lock(mutex_);
    run = initialised_ ? run_ : nullptr;  // Before init the node may still change.
  }
  if (run == nullptr) {
    run = OpenRun();
  }
  if (run == nullptr || (run->world().fault_kinds() & kCallFaults) == 0) {
    return abi::DCGM_ST_OK;
  }
  return ApplyCallFaults(*run, {.name = call, .gpus = [] { return 0U; }, .pause = Sleep});
}

bool Library::initialised() {
  const std::lock_guard lock(mutex_);
  return initialised_;
}

int Library::Shutdown() {
  std::unique_lock lock(mutex_);
  if (!initialised_) {
    return abi::DCGM_ST_OK;
  }
  initialised_ = false;
  idle_.wait(lock, [&] { return calls_ == 0; });
  AwaitEndOfEmbedded(lock);
  sessions_.clear();
  run_ = nullptr;
  embedded_ = Embedded::kNever;
  return abi::DCGM_ST_OK;
}

int Library::StartEmbedded(abi::dcgmOperationMode_t mode, abi::dcgmHandle_t& handle) {
  std::shared_ptr<RunDirectory> run = initialised() ? OpenRun() : nullptr;
  const std::lock_guard lock(mutex_);
  if (!initialised_) {
    return abi::DCGM_ST_UNINITIALIZED;
  }
  if (mode != abi::DCGM_OPERATION_MODE_AUTO) {
    const bool is_manual = mode == abi::DCGM_OPERATION_MODE_MANUAL;
    return is_manual ? abi::DCGM_ST_NOT_SUPPORTED : abi::DCGM_ST_BADPARAM;
  }
  if (embedded_ == Embedded::kRunning) {
    return abi::DCGM_ST_OK;
  }
  if (run == nullptr || IsDriverUnusable(run->world(), run->Now())) {
    embedded_ = Embedded::kFailed;
    return abi::DCGM_ST_INIT_ERROR;
  }
  sessions_[abi::DCGM_EMBEDDED_HANDLE] = std::make_shared<Session>(std::move(run), nullptr);
  embedded_ = Embedded::kRunning;
  handle = abi::DCGM_EMBEDDED_HANDLE;
  return abi::DCGM_ST_OK;
}

void Library::AwaitEndOfEmbedded(std::unique_lock<std::mutex>& lock) {
  const auto engine = sessions_.find(abi::DCGM_EMBEDDED_HANDLE);
  if (engine == sessions_.end() || !engine->second->has_delays()) {
    return;
  }
  const int64_t scale = run_ == nullptr ? 1 : std::max<int64_t>(run_->time_scale(), 1);
  lock.unlock();
  Sleep(kEmbeddedEndMs / static_cast<int>(scale));
  lock.lock();
}

int Library::StopEmbedded(abi::dcgmHandle_t handle) {
  std::unique_lock lock(mutex_);
  if (!initialised_) {
    return abi::DCGM_ST_UNINITIALIZED;
  }
  if (handle != abi::DCGM_EMBEDDED_HANDLE) {
    return abi::DCGM_ST_BADPARAM;
  }
  AwaitEndOfEmbedded(lock);
  sessions_.erase(handle);
  embedded_ = Embedded::kStopped;
  return abi::DCGM_ST_OK;
}

int Library::Connect(const std::string& address, bool is_unix, uint32_t timeout_ms,
                     abi::dcgmHandle_t& handle) {
  EngineAddress parsed;
  if (!initialised()) {
    return abi::DCGM_ST_UNINITIALIZED;
  }
  if (!ParseEngineAddress(address, is_unix, parsed)) {
    return abi::DCGM_ST_BADPARAM;
  }
  std::shared_ptr<RunDirectory> run = OpenRun();
  if (run == nullptr) {
    return abi::DCGM_ST_CONNECTION_NOT_VALID;  // Without a world there is no engine.
  }
  std::shared_ptr<EngineLink> link = EngineLink::Connect(parsed, DeadlinesOf(*run, timeout_ms));
  if (link == nullptr) {
    return abi::DCGM_ST_CONNECTION_NOT_VALID;
  }
  const auto session = std::make_shared<Session>(std::move(run), std::move(link));
  const std::lock_guard lock(mutex_);
  handle = next_handle_++;
  sessions_[handle] = session;
  return abi::DCGM_ST_OK;
}

int Library::Disconnect(abi::dcgmHandle_t handle) {
  const std::lock_guard lock(mutex_);
  if (!initialised_) {
    return abi::DCGM_ST_UNINITIALIZED;
  }
  const auto found = sessions_.find(handle);
  if (found != sessions_.end() && handle != abi::DCGM_EMBEDDED_HANDLE) {
    found->second->Shut();
    sessions_.erase(found);
  }
  return abi::DCGM_ST_OK;
}

int Library::Enter(abi::dcgmHandle_t handle, std::shared_ptr<Session>& session) {
  const std::lock_guard lock(mutex_);
  if (!initialised_) {
    return abi::DCGM_ST_CONNECTION_NOT_VALID;  // As seen; the vendor's documents say
                                               // "uninitialized".
  }
  const auto found = sessions_.find(handle);
  if (found != sessions_.end()) {
    session = found->second;
    ++calls_;
    return abi::DCGM_ST_OK;
  }
  if (handle == 0 || embedded_ == Embedded::kFailed) {
    return abi::DCGM_ST_BADPARAM;
  }
  return handle == abi::DCGM_EMBEDDED_HANDLE ? abi::DCGM_ST_UNINITIALIZED
                                             : abi::DCGM_ST_CONNECTION_NOT_VALID;
}

void Library::Leave() {
  const std::lock_guard lock(mutex_);
  if (--calls_ == 0) {
    idle_.notify_all();
  }
}

}  // namespace podgpu::sim
