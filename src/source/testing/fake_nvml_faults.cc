// The parts of FakeNvml that a test calls, and the faults that a call meets before it is answered.
#include <algorithm>
#include <utility>

#include "source/testing/fake_nvml_table.h"

namespace podgpu {

using namespace abi;  // NOLINT(google-build-using-namespace): this file speaks the vendor's names.

namespace {

// A handle is the address of the object that it stands for.
nvmlDevice_t HandleOfGpu(FakeNvmlGpu& gpu) { return reinterpret_cast<nvmlDevice_t>(&gpu); }

}  // namespace

void FakeNvml::AddXid(size_t gpu, uint64_t code) {
  const std::lock_guard<std::mutex> lock(mutex_);
  nvmlEventData_t event{};
  event.device = HandleOfGpu(gpus[gpu]);
  event.eventType = nvmlEventTypeXidCriticalError;
  event.eventData = code;
  events_.push_back(event);
  changed_.notify_all();
}

void FakeNvml::Change(const std::function<void()>& change) {
  const std::lock_guard<std::mutex> lock(mutex_);
  change();
}

void FakeNvml::Inject(const std::string& symbol, FakeFault fault, std::optional<size_t> gpu) {
  const std::lock_guard<std::mutex> lock(mutex_);
  faults_[symbol] = {std::move(fault), gpu};
}

void FakeNvml::Free(const std::string& symbol) {
  const std::lock_guard<std::mutex> lock(mutex_);
  FreeLocked(symbol);
}

void FakeNvml::Heal(const std::string& symbol) {
  const std::lock_guard<std::mutex> lock(mutex_);
  faults_.erase(symbol);
  FreeLocked(symbol);
}

void FakeNvml::FreeLocked(const std::string& symbol) {
  for (Blocked& call : blocked_) {
    if (!call.is_free && call.symbol == symbol) {
      call.is_free = true;
      SayBlocked(call, false);
    }
  }
  changed_.notify_all();
}

void FakeNvml::SayBlocked(const Blocked& call, bool blocks) const {
  if (on_block) {
    on_block(call.thread, call.symbol, blocks);
  }
}

void FakeNvml::AwaitHanging() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [&] { return !blocked_.empty(); });
}

void FakeNvml::SetDown(bool down) {
  const std::lock_guard<std::mutex> lock(mutex_);
  down_ = down;
  initialised = down ? 0 : initialised;
}

nvmlReturn_t FakeNvml::Enter(const std::string& symbol, nvmlDevice_t device,
                             std::unique_lock<std::mutex>& lock) {
  calls_[symbol] += 1;
  const auto found = faults_.find(symbol);
  const bool is_meant = found != faults_.end() &&
                        (!found->second.gpu || HandleOfGpu(gpus[*found->second.gpu]) == device);
  if (is_meant) {
    const int code = found->second.fault.code;
    if (found->second.fault.kills_engine) {
      down_ = true;
      initialised = 0;
      return NVML_ERROR_DRIVER_NOT_LOADED;
    }
    if (found->second.fault.block != FakeFault::Block::kNone) {
      const auto self = blocked_.insert(blocked_.end(), {symbol, std::this_thread::get_id()});
      SayBlocked(*self, true);
      changed_.notify_all();
      changed_.wait(lock, [&] { return self->is_free; });
      blocked_.erase(self);
    }
    if (code != NVML_SUCCESS) {
      return code;
    }
  }
  if (down_) {
    return NVML_ERROR_DRIVER_NOT_LOADED;
  }
  if (initialised == 0 && symbol != "nvmlInit_v2") {
    return NVML_ERROR_UNINITIALIZED;
  }
  if (const auto fails = failing_.find(symbol); fails != failing_.end()) {
    return fails->second;
  }
  const std::optional<size_t> gpu = IndexOf(device);
  return gpu ? gpus[*gpu].state : static_cast<nvmlReturn_t>(NVML_SUCCESS);
}

void FakeNvml::FailWith(std::map<std::string, nvmlReturn_t> failing) {
  const std::scoped_lock lock(mutex_);
  failing_ = std::move(failing);
}

void FakeNvml::Spoil(const std::string& symbol, std::span<const FakeOut> outs) {
  const auto found = faults_.find(symbol);
  if (found != faults_.end() && found->second.fault.spoil) {
    found->second.fault.spoil(outs);
  }
}

int64_t FakeNvml::NumberOf(const std::string& symbol, nvmlDevice_t device) const {
  if (measure) {
    return measure(symbol, IndexOf(device).value_or(0));
  }
  const auto found = numbers.find(symbol);
  return found == numbers.end() ? 7 : found->second;
}

// Returns the index of the GPU, or of the GPU that contains a MIG device.
std::optional<size_t> FakeNvml::IndexOf(nvmlDevice_t device) const {
  if (device == nullptr) {
    return std::nullopt;
  }
  for (size_t i = 0; i < gpus.size(); ++i) {
    const auto is_it = [&](const FakeMigDevice& mig) {
      return reinterpret_cast<nvmlDevice_t>(const_cast<FakeMigDevice*>(&mig)) == device;
    };
    if (reinterpret_cast<const FakeNvmlGpu*>(device) == &gpus[i] ||
        std::ranges::any_of(gpus[i].mig_devices, is_it)) {
      return i;
    }
  }
  return std::nullopt;
}

std::set<std::string> FakeNvml::called() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::set<std::string> symbols;
  for (const auto& [symbol, count] : calls_) {
    symbols.insert(symbol);
  }
  return symbols;
}

int FakeNvml::CountOf(const std::string& symbol) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = calls_.find(symbol);
  return found == calls_.end() ? 0 : found->second;
}

void FakeNvml::ForgetCalls() {
  const std::lock_guard<std::mutex> lock(mutex_);
  calls_.clear();
}

}  // namespace podgpu
