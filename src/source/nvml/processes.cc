#include "source/nvml/processes.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_format.h"

#include "base/counted.h"
#include "source/nvml/error.h"

namespace podgpu {
namespace {

constexpr int kMostProcessThreadsOut = 64;  // One per device; more than a node has.

}  // namespace

// One read pass over many devices, one after the other; reused for every reading.
class NvmlProcesses::ReadPass final : public NvmlTask {
 public:
  explicit ReadPass(const Clock& clock) : clock_(clock) {}

  void Run() override {
    codes.resize(devices.size(), abi::NVML_SUCCESS);
    for (size_t i = first; i < devices.size(); ++i) {
      if (!GoTo(static_cast<int>(i))) {
        return;
      }
      codes[i] = devices[i]->Read(clock_.Now(), clock_.WallNow(), profiles);
    }
    GoTo(kNowhere);
  }

  std::vector<std::shared_ptr<NvmlProcessDevice>> devices;
  size_t first = 0;      // Index of the first device to read.
  bool profiles = true;  // Read the profiling counters.
  // The code of the reading of each device.
  std::vector<abi::nvmlReturn_t> codes;

 private:
  const Clock& clock_;
};

NvmlProcesses::NvmlProcesses(abi::NvmlLibrary library, NvmlProcessesOptions options,
                             const Files& files, const Clock& clock)
    : library_(std::make_shared<const abi::NvmlLibrary>(std::move(library))),
      options_(std::move(options)),
      clock_(clock),
      proc_(files, options_.proc_root),
      identities_(proc_),
      sleep_(options_.sysfs),
      call_thread_("nvml-processes", kMostProcessThreadsOut, options_.written_off),
      pass_(std::make_shared<ReadPass>(clock)) {}

NvmlProcesses::~NvmlProcesses() { Close(); }

Status NvmlProcesses::Read(ProcessReading& reading) {
  std::erase_if(hung_, [](const Hung& hung) { return hung.task->has_returned(); });
  PODGPU_RETURN_IF_ERROR(ScanIfDue());
  Status status = RunPasses();
  if (status.ok()) {
    Finish(reading);
  }
  if (is_missing_ || !status.ok()) {
    Close();
  }
  return status;
}

Status NvmlProcesses::ScanIfDue() {
  const Instant now = clock_.Now();
  const std::vector<NvmlScannedDevice> sleepers = sleep_.Sleepers(found_);
  const bool same_sleep = std::ranges::equal(
      sleepers, sleepers_, {},
      [](const NvmlScannedDevice& sleeper) { return sleeper.address.gpu.index; });
  if (is_open_ && scanned_at_ && now - *scanned_at_ < options_.scan_every && same_sleep) {
    return absl::OkStatus();
  }
  if (!library_->Has(abi::NvmlCapability::kDevices)) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "%s is too old to list its GPUs. Install driver R450 or later", library_->name));
  }
  while (true) {
    std::vector<uint32_t> left_out;
    left_out.reserve(hung_.size() + sleepers.size());
    for (const Hung& hung : hung_) {
      left_out.push_back(hung.index);
    }
    for (const NvmlScannedDevice& sleeper : sleepers) {
      left_out.push_back(sleeper.address.gpu.index);
    }
    const auto scan = std::make_shared<NvmlDeviceScan>(
        library_, is_open_, is_open_ ? found_ : std::vector<NvmlScannedDevice>(),
        std::move(left_out), sleep_.UnknownSleepers(found_));
    if (!call_thread_.Run(scan)) {
      const int place = scan->GiveUp();
      if (place < 0) {
        return absl::UnavailableError(absl::StrFormat(
            "%s has not returned from a call about the whole node", library_->name));
      }
      is_open_ = true;  // It hung in a device, so the library was initialised.
      NoteHung(static_cast<uint32_t>(place), scan);
      continue;
    }
    is_open_ = scan->is_initialised;
    if (scan->code != abi::NVML_SUCCESS) {
      Status status = NvmlStatus(library_->api, scan->code,
                                 absl::StrFormat("%s: %s fails", library_->name, scan->failed));
      Close();
      return status;
    }
    scanned_at_ = now;
    TakeDevices(*scan, sleepers);
    return absl::OkStatus();
  }
}

// A device with a new address keeps its state (NvmlProcessDevice::Kept).
void NvmlProcesses::TakeDevices(const NvmlDeviceScan& scan,
                                const std::vector<NvmlScannedDevice>& sleepers) {
  found_ = scan.found;
  sleep_.Note(found_);
  is_missing_ = false;
  std::vector<std::shared_ptr<NvmlProcessDevice>> devices;
  for (const NvmlScannedDevice& device : found_) {
    const bool is_here = !device.gpu.uuid.empty() && device.gpu.state != DeviceState::kLost;
    const bool is_others = device.gpu.uuid.empty() && device.code == abi::NVML_ERROR_NO_PERMISSION;
    is_missing_ = is_missing_ || (!is_here && !is_others) || !device.needs_release.empty();
    if (!is_here) {
      continue;
    }
    const auto same = std::ranges::find_if(devices_, [&](const auto& before) {
      return before->address().uuid == device.address.uuid;
    });
    if (same == devices_.end()) {
      devices.push_back(std::make_shared<NvmlProcessDevice>(
          library_, samples_, device.address,
          NvmlProcessDevice::Kept{{}, NvmlAccounting(options_.enable_accounting)}));
    } else if ((*same)->address() == device.address) {
      devices.push_back(*same);
    } else {
      devices.push_back(
          std::make_shared<NvmlProcessDevice>(library_, samples_, device.address, (*same)->kept()));
    }
  }
  devices_ = std::move(devices);
  found_.insert(found_.end(), sleepers.begin(), sleepers.end());
  sleepers_.clear();
  for (const NvmlScannedDevice& sleeper : sleepers) {
    sleepers_.push_back(sleeper.address.gpu.index);
  }
}

void NvmlProcesses::NoteHung(uint32_t index, std::shared_ptr<NvmlTask> task) {
  std::erase_if(devices_, [&](const auto& device) { return device->address().gpu.index == index; });
  hung_.push_back({index, std::move(task)});
}

Status NvmlProcesses::RunPasses() {
  is_read_.assign(devices_.size(), false);
  pass_->devices = devices_;
  pass_->first = 0;
  pass_->profiles = profiles_;
  while (!call_thread_.Run(pass_)) {
    const int place = pass_->GiveUp();
    if (place == NvmlTask::kLibrary) {
      return absl::UnavailableError("no more threads can be started for calls to " +
                                    library_->name);
    }
    const bool hangs = place >= 0;  // Else it finished while it was given up.
    const size_t end = hangs ? static_cast<size_t>(place) : devices_.size();
    const std::shared_ptr<ReadPass> stuck =
        std::exchange(pass_, std::make_shared<ReadPass>(clock_));
    // The hung thread keeps `stuck` and its device; the next pass begins after that device, on a
    // new thread, with objects of its own.
    TakeCodes(*stuck, end);
    pass_->first = end;
    pass_->profiles = profiles_;
    if (hangs) {
      NoteHung(devices_[end]->address().gpu.index, stuck);
      is_read_.erase(is_read_.begin() + static_cast<std::ptrdiff_t>(end));
    }
    pass_->devices = devices_;
  }
  TakeCodes(*pass_, devices_.size());
  const bool is_gone = std::ranges::any_of(pass_->codes, [](abi::nvmlReturn_t code) {
    return code == abi::NVML_ERROR_UNINITIALIZED || code == abi::NVML_ERROR_DRIVER_NOT_LOADED;
  });
  return is_gone ? absl::UnavailableError(library_->name + ": the driver was unloaded")
                 : absl::OkStatus();
}

void NvmlProcesses::TakeCodes(const ReadPass& pass, size_t end) {
  for (size_t i = pass.first; i < end; ++i) {
    is_read_[i] = pass.codes[i] == abi::NVML_SUCCESS;
    if (!is_read_[i]) {
      scanned_at_.reset();
    }
  }
}

void NvmlProcesses::Finish(ProcessReading& reading) {
  reading.at = clock_.Now();
  reading.wall = clock_.WallNow();
  reading.devices.resize(static_cast<size_t>(std::ranges::count(is_read_, true)));
  identities_.Begin(reading.at);
  size_t next = 0;
  for (size_t i = 0; i < devices_.size(); ++i) {
    if (is_read_[i]) {
      devices_[i]->Finish(
          NumberOf(devices_[i]->address().uuid),
          [this](uint32_t pid) { return identities_.Find(pid); }, reading.devices[next++]);
    }
  }
  identities_.End();
}

std::string NvmlProcesses::ReleaseReason() const {
  return podgpu::ReleaseReason(library_->api, found_);
}

DeviceNumber NvmlProcesses::NumberOf(const std::string& uuid) {
  const auto known = std::ranges::find(uuids_, uuid);
  const auto number = static_cast<uint32_t>(known - uuids_.begin());
  if (known == uuids_.end()) {
    uuids_.push_back(uuid);
  }
  return {number};
}

std::string NvmlProcesses::Complaint() const {
  if (!hung_.empty()) {
    return absl::StrFormat("a call has not returned for %s; the processes there are unknown",
                           Counted(hung_.size(), "GPU"));
  }
  if (identities_.unknown() > 0) {
    return absl::StrFormat("%s cannot be looked up: %s", Counted(identities_.unknown(), "process"),
                           identities_.reason().message());
  }
  return AccountingComplaint();
}

// A GPU in MIG mode or a board without accounting is no complaint: nothing can change it.
std::string NvmlProcesses::AccountingComplaint() const {
  size_t refused = 0;
  abi::nvmlReturn_t why = abi::NVML_SUCCESS;
  for (const std::shared_ptr<NvmlProcessDevice>& device : devices_) {
    const std::optional<abi::nvmlReturn_t> refusal = device->kept().accounting.refusal();
    if (refusal && !IsLacking(*refusal)) {
      ++refused;
      why = *refusal;
    }
  }
  if (refused == 0) {
    return "";
  }
  return absl::StrFormat(
      "accounting cannot be switched on for %s (%s), so processes that live between two "
      "readings are not seen. Run podgpu as root, or \"podgpu doctor --enable-accounting\" as root "
      "after each load of the driver, or leave --enable-accounting out",
      Counted(refused, "GPU"), NvmlWords(library_->api, why));
}

std::string NvmlProcesses::Describe() const {
  const auto read = static_cast<size_t>(std::ranges::count(is_read_, true));
  const auto accounted = static_cast<size_t>(
      std::ranges::count_if(devices_, [](const std::shared_ptr<NvmlProcessDevice>& device) {
        return device->kept().accounting.mode() == Accounting::kOn;
      }));
  return absl::StrFormat("NVML of %s tells the processes of %s; accounting is on for %d",
                         library_->name, Counted(read, "GPU"), accounted);
}

// The devices stay, with their state; the next scan gives them new handles.
void NvmlProcesses::Close() {
  scanned_at_.reset();
  for (const std::shared_ptr<NvmlProcessDevice>& device : devices_) {
    device->PauseProfiling();
  }
  if (is_open_ && hung_.empty()) {
    call_thread_.Run(std::make_shared<NvmlShutdown>(library_, samples_));
  }
  is_open_ = false;
}

}  // namespace podgpu
