#include "source/nvml/events.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <iterator>
#include <pthread.h>
#include <system_error>

#include "base/mutex.h"

namespace podgpu {
namespace {

using abi::nvmlDevice_t;
using abi::nvmlReturn_t;

constexpr uint32_t kWaitMs = 500;
constexpr std::chrono::seconds kEndPatience{1};
constexpr size_t kMostKept = 4096;  // Per reading period; a driver that reports more is broken.

}  // namespace

struct NvmlEvents::Listening {
  Listening(const NvmlSubscription& subscription, const Clock& now)
      : library(subscription.library),
        set(subscription.set),
        subscribed(subscription.subscribed),
        clock(&now) {}

  const std::shared_ptr<const abi::NvmlLibrary> library;
  const abi::nvmlEventSet_t set;
  const std::vector<NvmlListened> subscribed;

  Mutex mutex;  // Guards what the thread and the source exchange.
  std::condition_variable_any changed;
  const Clock* clock PODGPU_GUARDED_BY(mutex);  // Null once the thread is written off.
  std::vector<NvmlXid> xids PODGPU_GUARDED_BY(mutex);
  bool shall_end PODGPU_GUARDED_BY(mutex) = false;
  bool has_ended PODGPU_GUARDED_BY(mutex) = false;

  bool ShallEnd() {
    MutexLock lock(mutex);
    return shall_end;
  }
  void Keep(const abi::nvmlEventData_t& event) {
    const auto device = std::ranges::find(subscribed, event.device, &NvmlListened::handle);
    MutexLock lock(mutex);
    if (clock != nullptr && event.eventType == abi::nvmlEventTypeXidCriticalError &&
        device != subscribed.end() && xids.size() < kMostKept) {
      xids.push_back({device->uuid, static_cast<int64_t>(event.eventData & 0xffffffffU),
                      ToMicroseconds(clock->WallNow())});
    }
  }
  nvmlReturn_t Wait(uint32_t timeout_ms) {
    abi::nvmlEventData_t event{};
    const nvmlReturn_t code = library->api.nvmlEventSetWait_v2(set, &event, timeout_ms);
    if (code == abi::NVML_SUCCESS) {
      Keep(event);
    }
    return code;
  }
  // Pauses before the next wait; called after a wait that failed at once.
  void Pause() {
    MutexLock lock(mutex);
    constexpr std::chrono::milliseconds kPause(kWaitMs);
    while (!shall_end && changed.wait_for(mutex, kPause) == std::cv_status::no_timeout) {
    }
  }
  void Listen() {
    while (!ShallEnd()) {
      const nvmlReturn_t code = Wait(kWaitMs);
      if (code != abi::NVML_SUCCESS && code != abi::NVML_ERROR_TIMEOUT) {
        Pause();
      }
    }
    for (size_t i = 0; i < kMostKept && Wait(0) == abi::NVML_SUCCESS; ++i) {
    }
    library->api.nvmlEventSetFree(set);
  }
  // Called by the thread at its end.  Returns whether Stop waits for it.
  bool End() {
    MutexLock lock(mutex);
    has_ended = true;
    changed.notify_all();
    return clock != nullptr;
  }
  // Asks the thread to end.  Returns false when it does not end within `kEndPatience`; then it is
  // written off.
  bool AwaitEnd() {
    MutexLock lock(mutex);
    shall_end = true;
    changed.notify_all();
    while (!has_ended && changed.wait_for(mutex, kEndPatience) == std::cv_status::no_timeout) {
    }
    clock = has_ended ? clock : nullptr;
    return has_ended;
  }
};

bool NvmlSubscription::Succeeds(nvmlReturn_t result, const char* call) {
  if (result != abi::NVML_SUCCESS && result != abi::NVML_ERROR_NOT_SUPPORTED &&
      code == abi::NVML_SUCCESS) {
    code = result;
    failed = call;
  }
  return result == abi::NVML_SUCCESS;
}

void NvmlSubscription::Run() {
  const abi::NvmlTable& api = library->api;
  if (!library->Has(abi::NvmlCapability::kEvents) || devices.empty() ||
      !Succeeds(api.nvmlEventSetCreate(&set), "nvmlEventSetCreate")) {
    set = nullptr;
    return;
  }
  for (size_t i = 0; i < devices.size(); ++i) {
    if (!GoTo(static_cast<int>(i))) {
      api.nvmlEventSetFree(set);
      return;
    }
    unsigned long long types = 0;
    const nvmlDevice_t device = devices[i].handle;
    const bool has_xids = Succeeds(api.nvmlDeviceGetSupportedEventTypes(device, &types),
                                   "nvmlDeviceGetSupportedEventTypes") &&
                          (types & abi::nvmlEventTypeXidCriticalError) != 0;
    if (has_xids &&
        Succeeds(api.nvmlDeviceRegisterEvents(device, abi::nvmlEventTypeXidCriticalError, set),
                 "nvmlDeviceRegisterEvents")) {
      subscribed.push_back(devices[i]);
    }
  }
  if (!GoTo(kNowhere)) {
    api.nvmlEventSetFree(set);
  }
}

void NvmlEvents::Follow(const NvmlSubscription& subscription) {
  const int64_t registered_us = ToMicroseconds(clock_.WallNow());
  Stop();
  std::erase_if(left_over_, [&](const NvmlXid& xid) {
    return xid.stamp_us > registered_us &&
           std::ranges::find(subscription.subscribed, xid.uuid, &NvmlListened::uuid) !=
               subscription.subscribed.end();
  });
  follows_ = subscription.code == abi::NVML_SUCCESS;
  devices_ = subscription.devices;
  if (subscription.set == nullptr) {
    return;
  }
  auto listening = std::make_shared<Listening>(subscription, clock_);
  try {
    thread_ = std::thread([listening, tally = written_off_] {
      listening->Listen();
      if (!listening->End()) {
        --*tally;
      }
    });
  } catch (const std::system_error&) {
    follows_ = false;  // The process may start no more threads: tried again at the next Discover.
    return;
  }
  pthread_setname_np(thread_.native_handle(), "nvml-events");
  listening_ = std::move(listening);
}

void NvmlEvents::Stop() {
  follows_ = false;
  if (listening_ == nullptr) {
    return;
  }
  ++*written_off_;  // Counted before the thread can find that it was written off.
  if (listening_->AwaitEnd()) {
    --*written_off_;
    thread_.join();
  } else {
    thread_.detach();
  }
  {
    MutexLock lock(listening_->mutex);
    std::ranges::move(listening_->xids, std::back_inserter(left_over_));
    listening_->xids.clear();
  }
  listening_ = nullptr;
}

bool NvmlEvents::IsSubscribed(nvmlDevice_t device) const {
  return listening_ != nullptr &&
         std::ranges::find(listening_->subscribed, device, &NvmlListened::handle) !=
             listening_->subscribed.end();
}

void NvmlEvents::Take(std::vector<NvmlXid>& xids) {
  xids.clear();
  xids.swap(left_over_);
  if (listening_ != nullptr) {
    MutexLock lock(listening_->mutex);
    std::ranges::move(listening_->xids, std::back_inserter(xids));
    listening_->xids.clear();
  }
}

}  // namespace podgpu
