#include "source/nvml/source.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"

#include "source/nvml/error.h"

namespace podgpu {
namespace {

using abi::nvmlReturn_t;
using std::chrono::seconds;

constexpr int kMostThreadsOut = 64;  // One per device; more than a node has.
constexpr seconds kLostPatience{10};
constexpr seconds kLongestLostPatience{1800};

// In a container, NVML also counts GPUs of other containers and refuses calls about them.
bool IsOurs(const NvmlScannedDevice& device) {
  return device.code != abi::NVML_ERROR_NO_PERMISSION || !device.gpu.uuid.empty();
}

void AddInstancesOf(const std::vector<NvmlScannedDevice>& found, Topology& topology) {
  for (size_t gpu = 0; gpu < topology.gpus.size(); ++gpu) {
    const auto device = std::ranges::find_if(found, [&](const NvmlScannedDevice& candidate) {
      return !candidate.gpu.uuid.empty() && candidate.gpu.uuid == topology.gpus[gpu].uuid;
    });
    if (device == found.end()) {
      continue;
    }
    for (GpuInstance instance : device->instances) {
      instance.gpu = static_cast<uint16_t>(gpu);
      topology.instances.push_back(std::move(instance));
    }
  }
}

}  // namespace

NvmlSource::NvmlSource(abi::NvmlLibrary library, const NvmlSourceOptions& options, Clock& clock)
    : library_(std::make_shared<const abi::NvmlLibrary>(std::move(library))),
      clock_(clock),
      call_thread_("nvml", kMostThreadsOut, options.written_off),
      events_(clock, options.written_off),
      pass_(std::make_shared<NvmlReadPass>()),
      lost_(kLostPatience, kLongestLostPatience),
      sleep_(options.sysfs),
      stale_after_(options.stale_after),
      stale_(stale_after_,
             std::max<std::chrono::milliseconds>(kLongestStalePatience, stale_after_)) {}

NvmlSource::~NvmlSource() { Close(); }

std::string NvmlSource::Describe() const { return "NVML of " + library_->name; }

StatusOr<Topology> NvmlSource::Discover(PartKinds kinds) {
  if (!library_->Has(abi::NvmlCapability::kDevices)) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "%s is too old to list its GPUs. Install driver R450 or later", library_->name));
  }
  CloseIfDeviceLost();
  PODGPU_ASSIGN_OR_RETURN(const std::shared_ptr<NvmlDeviceScan> scan, Scan());
  found_ = scan->found;
  for (const NvmlScannedDevice& device : found_) {
    last_failure_ = device.code == abi::NVML_SUCCESS ? last_failure_ : device.code;
  }
  driver_version_ = scan->driver_version;
  MakeDevices(*scan);
  FollowEvents();
  BindSlots();
  Topology topology = MakeTopology(*scan);
  topology.parts_absence = AbsencesOf(*scan, kinds, topology.gpus.empty());
  if (topology.gpus.empty() && !topology.parts_absence.empty()) {
    return absl::UnavailableError(
        absl::StrFormat("%s reports no GPU, but %s", library_->name, topology.parts_absence));
  }
  return topology;
}

std::string NvmlSource::AbsencesOf(const NvmlDeviceScan& scan, PartKinds kinds,
                                   bool has_no_gpu) const {
  std::vector<std::string> absences;
  for (const NvmlScannedDevice& device : scan.found) {
    if (device.gpu.uuid.empty() && (IsOurs(device) || has_no_gpu)) {
      absences.push_back(absl::StrFormat("GPU %d (%s)", device.address.gpu.index,
                                         NvmlWords(library_->api, device.code)));
    }
  }
  for (const uint32_t index : scan.asleep) {
    absences.push_back(absl::StrFormat("GPU %d (suspended; a call would wake it)", index));
  }
  for (const Hung& hung : hung_) {
    if (hung.gpu.uuid.empty()) {
      absences.push_back(absl::StrFormat("GPU %d (a call has not returned)", hung.index));
    }
  }
  if (!events_absence_.empty()) {
    absences.push_back("XIDs (" + events_absence_ + ")");
  }
  if (kinds.any()) {
    absences.emplace_back(
        "switches, links and CPUs (NVML does not report them; --source=dcgm does)");
  }
  return absl::StrJoin(absences, ", ");
}

std::vector<const Field*> NvmlSource::FieldsLacked(const std::vector<const Field*>& fields) const {
  const bool has_gpm = std::ranges::all_of(found_, [](const NvmlScannedDevice& device) {
    return device.gpu.state != DeviceState::kOk || device.has_gpm;
  });
  std::vector<const Field*> lacked;
  std::ranges::copy_if(fields, std::back_inserter(lacked), [&](const Field* field) {
    const std::optional<NvmlRecipe> recipe = NvmlRecipeOf(*field);
    return !recipe || (NeedsGpm(*recipe) && !has_gpm);
  });
  return lacked;
}

std::string NvmlSource::ReleaseReason() const {
  return podgpu::ReleaseReason(library_->api, found_);
}

// Only a new initialisation finds a GPU that has returned.
void NvmlSource::CloseIfDeviceLost() {
  const bool is_missing = std::ranges::any_of(
      found_, [](const NvmlScannedDevice& device) { return device.gpu.state != DeviceState::kOk; });
  if (!is_missing) {
    lost_.Reset();
  } else if (is_open_ && hung_.empty() && lost_.IsRestartDue(clock_.Now())) {
    Close();
  }
}

StatusOr<std::shared_ptr<NvmlDeviceScan>> NvmlSource::Scan() {
  ForgetReturned();
  const std::vector<NvmlScannedDevice> sleepers = sleep_.Sleepers(found_);
  const NvmlUnknownSleepers unknown_sleepers =
      is_open_ && !has_unknown_sleepers_ ? NvmlUnknownSleepers() : sleep_.UnknownSleepers(found_);
  while (true) {
    std::vector<uint32_t> left_out = LeftOut();
    std::ranges::transform(
        sleepers, std::back_inserter(left_out),
        [](const NvmlScannedDevice& device) { return device.address.gpu.index; });
    const auto scan = std::make_shared<NvmlDeviceScan>(
        library_, is_open_, is_open_ ? found_ : std::vector<NvmlScannedDevice>(),
        std::move(left_out), unknown_sleepers);
    if (!call_thread_.Run(scan)) {
      const int place = scan->GiveUp();
      if (place < 0) {
        return absl::UnavailableError(absl::StrFormat(
            "%s has not returned from a call about the whole node; the driver hangs",
            library_->name));
      }
      NoteHung(static_cast<uint32_t>(place), scan);
      is_open_ = true;  // It hung in a device, so the library was initialised.
      continue;
    }
    is_open_ = scan->is_initialised;
    if (scan->code == abi::NVML_SUCCESS) {
      scan->found.insert(scan->found.end(), sleepers.begin(), sleepers.end());
      std::ranges::sort(scan->found, {},
                        [](const NvmlScannedDevice& device) { return device.address.gpu.index; });
      sleep_.Note(scan->found);
      has_unknown_sleepers_ = !scan->asleep.empty();
      return scan;
    }
    const std::string what = absl::StrFormat("%s: %s fails", library_->name, scan->failed);
    if (is_open_ && DriverIsGone(scan->code)) {
      Close();
    }
    return NvmlStatus(library_->api, scan->code, what);
  }
}

void NvmlSource::NoteHung(uint32_t index, std::shared_ptr<NvmlTask> task) {
  Hung hung{.index = index, .gpu = {}, .task = std::move(task)};
  const auto known = std::ranges::find_if(
      found_, [&](const NvmlScannedDevice& device) { return device.address.gpu.index == index; });
  if (known != found_.end() && known->address.gpu.handle != nullptr) {
    hung.gpu = known->gpu;
    std::erase_if(devices_,
                  [&](const auto& device) { return device->address().gpu.index == index; });
  }
  hung.gpu.state = DeviceState::kUnresponsive;
  hung_.push_back(std::move(hung));
}

void NvmlSource::ForgetReturned() {
  std::erase_if(hung_, [](const Hung& hung) { return hung.task->has_returned(); });
}

std::vector<uint32_t> NvmlSource::LeftOut() const {
  std::vector<uint32_t> indices;
  indices.reserve(hung_.size());
  for (const Hung& hung : hung_) {
    indices.push_back(hung.index);
  }
  return indices;
}

Topology NvmlSource::MakeTopology(const NvmlDeviceScan& scan) {
  Topology topology;
  topology.driver_version = scan.driver_version;
  for (const NvmlScannedDevice& device : scan.found) {
    if (!IsOurs(device) || device.gpu.uuid.empty() || IsHung(device.address.gpu.index)) {
      continue;
    }
    topology.gpus.push_back(device.gpu);
    if (device.gpu.state == DeviceState::kOk && seen_.WasLost(device.gpu.uuid)) {
      topology.gpus.back().state = DeviceState::kRecovering;
    }
  }
  for (const Hung& hung : hung_) {
    if (!hung.gpu.uuid.empty()) {
      topology.gpus.push_back(hung.gpu);
    }
  }
  seen_.AddLost(topology);
  std::ranges::sort(topology.gpus, {}, &Gpu::gpu_id);
  AddInstancesOf(scan.found, topology);
  NumberEntities(topology);
  seen_.Note(topology);
  return topology;
}

// A device whose address did not change keeps its cells.
void NvmlSource::MakeDevices(const NvmlDeviceScan& scan) {
  std::vector<std::shared_ptr<NvmlDevice>> devices;
  for (const NvmlScannedDevice& device : scan.found) {
    if (device.gpu.uuid.empty() || device.gpu.state == DeviceState::kLost || !IsOurs(device) ||
        device.address.gpu.handle == nullptr) {
      continue;
    }
    const auto same = std::ranges::find_if(
        devices_, [&](const auto& before) { return before->address() == device.address; });
    devices.push_back(same != devices_.end()
                          ? *same
                          : std::make_shared<NvmlDevice>(library_, samples_, device.address));
  }
  devices_ = std::move(devices);
}

void NvmlSource::FollowEvents() {
  while (true) {
    std::vector<NvmlListened> listened;
    listened.reserve(devices_.size());
    for (const auto& device : devices_) {
      listened.push_back({device->address().gpu.handle, device->address().uuid});
    }
    const bool hangs = events_hung_ != nullptr && !events_hung_->has_returned();
    if (hangs || events_.Follows(listened)) {
      return;
    }
    const auto subscription = std::make_shared<NvmlSubscription>(library_, std::move(listened));
    if (call_thread_.Run(subscription)) {
      events_.Follow(*subscription);
      events_absence_ = subscription->code == abi::NVML_SUCCESS
                            ? ""
                            : absl::StrFormat("%s fails: %s", subscription->failed,
                                              NvmlWords(library_->api, subscription->code));
      return;
    }
    const int place = subscription->GiveUp();
    if (place < 0) {
      events_.Stop();
      events_hung_ = subscription;
      events_absence_ = "nvmlEventSetCreate has not returned";
      return;
    }
    NoteHung(devices_[static_cast<size_t>(place)]->address().gpu.index, subscription);
  }
}

void NvmlSource::BindSlots() {
  for (NvmlSlot& slot : slots_) {
    BindSlot(slot);
  }
}

StatusOr<WatchResult> NvmlSource::Watch(const Topology& topology,
                                        const std::vector<const Field*>& fields,
                                        std::chrono::microseconds period) {
  if (plan_ == nullptr || fields != fields_ || collections_ != planned_collections_) {
    fields_ = fields;
    planned_collections_ = collections_;
    plan_ = std::make_shared<const NvmlPlan>(
        MakeNvmlPlan(fields, collections_, std::chrono::ceil<std::chrono::milliseconds>(period)));
    column_of_row_.assign(fields.size(), std::nullopt);
    for (size_t i = 0; i < plan_->columns.size(); ++i) {
      column_of_row_[plan_->columns[i].row.index] = i;
    }
  }
  slots_.clear();
  for (size_t gpu = 0; gpu < topology.gpus.size(); ++gpu) {
    NvmlSlot slot;
    slot.uuid = topology.gpus[gpu].uuid;
    for (const GpuInstance& instance : topology.instances) {
      if (instance.gpu == gpu) {
        slot.gpu_instance_ids.push_back(instance.gpu_instance_id);
      }
    }
    BindSlot(slot);
    slots_.push_back(std::move(slot));
  }
  history_.Follow(topology, clock_.WallNow());
  lacked_ = Lacking();
  return WatchResult{};
}

std::shared_ptr<const LackedFields> NvmlSource::Lacking() const {
  LackedFields lacked{FieldsLacked(fields_), "NVML, the library of the driver, does not have them"};
  if (lacked.fields.empty()) {
    return nullptr;
  }
  if (std::ranges::all_of(lacked.fields,
                          [](const Field* field) { return NvmlRecipeOf(*field).has_value(); })) {
    lacked.why = "NVML, the library of the driver, has them from Hopper on";
  }
  return std::make_shared<const LackedFields>(std::move(lacked));
}

// Finds the slot's current device and the indices of its instances.
void NvmlSource::BindSlot(NvmlSlot& slot) {
  const auto device = std::ranges::find_if(
      devices_, [&](const auto& candidate) { return candidate->address().uuid == slot.uuid; });
  slot.device = device == devices_.end() ? nullptr : *device;
  slot.instances.clear();
  for (const uint32_t id : slot.gpu_instance_ids) {
    std::optional<size_t> place;
    if (slot.device != nullptr) {
      const std::vector<NvmlInstanceHandle>& handles = slot.device->address().instances;
      const auto found = std::ranges::find(handles, id, &NvmlInstanceHandle::gpu_instance_id);
      if (found != handles.end()) {
        place = static_cast<size_t>(found - handles.begin());
      }
    }
    slot.instances.push_back(place);
  }
}

Status NvmlSource::Read(Grid& grid) {
  grid.read_at = clock_.Now();
  grid.read_at_wall = clock_.WallNow();
  if (!is_open_ || plan_ == nullptr) {
    return absl::UnavailableError(library_->name + " is not initialised");
  }
  PODGPU_CHECK(grid.fields() == fields_ && grid.topology().gpus.size() == slots_.size());
  pass_->plan = plan_;
  pass_->options = {.wall = grid.read_at_wall, .now = grid.read_at, .profiles = profiles_};
  if (Status status = RunPasses(); !status.ok()) {
    Close();
    return status;
  }
  history_.TakeXids(events_, slots_);
  NvmlCells(*plan_, column_of_row_, slots_, history_, events_).CopyTo(grid);
  history_.Fill(grid, slots_, events_);
  grid.findings.lacked = lacked_;
  return DisconnectIfStale(grid);
}

Status NvmlSource::RunPasses() {
  for (NvmlSlot& slot : slots_) {
    slot.absence = IsHung(slot.uuid) ? Absence::kSourceDown : Absence::kDeviceLost;
    slot.is_read = false;
  }
  SetAwakeDevices();
  pass_->first = 0;
  while (!call_thread_.Run(pass_)) {
    const int place = pass_->GiveUp();
    if (place == NvmlTask::kLibrary) {
      return absl::UnavailableError("no more threads can be started for calls to " +
                                    library_->name);
    }
    PODGPU_RETURN_IF_ERROR(ContinueWithout(place));
  }
  return TakeCodes(pass_->devices.size());
}

// Begins a new pass after the device at `place`, which hangs.  The old pass and its device stay
// with the hung thread; nothing else may touch them.
Status NvmlSource::ContinueWithout(int place) {
  const bool hangs = place >= 0;  // Else it finished while it was given up.
  const size_t read = hangs ? static_cast<size_t>(place) : pass_->devices.size();
  PODGPU_RETURN_IF_ERROR(TakeCodes(read));
  const std::shared_ptr<NvmlReadPass> stuck =
      std::exchange(pass_, std::make_shared<NvmlReadPass>());
  pass_->plan = stuck->plan;
  pass_->options = stuck->options;
  pass_->first = read;
  if (hangs) {
    NoteHung(stuck->devices[read]->address().gpu.index, stuck);
    for (NvmlSlot& slot : slots_) {
      slot.absence = IsHung(slot.uuid) ? Absence::kSourceDown : slot.absence;
    }
    BindSlots();
  }
  SetAwakeDevices();
  return absl::OkStatus();
}

// Sets the devices of the pass: all except suspended ones, whose slots get that absence.
void NvmlSource::SetAwakeDevices() {
  std::vector<std::shared_ptr<NvmlDevice>>& awake = pass_->devices;
  awake = devices_;
  for (const NvmlScannedDevice& device : found_) {
    if (!sleep_.IsAsleep(device)) {
      continue;
    }
    std::erase_if(
        awake, [&](const auto& candidate) { return candidate->address().uuid == device.gpu.uuid; });
    const auto slot = std::ranges::find(slots_, device.gpu.uuid, &NvmlSlot::uuid);
    if (slot != slots_.end()) {
      slot->absence = Absence::kSuspended;
    }
  }
}

// Takes the result codes of the pass for the devices before `end`. Returns kUnavailable when the
// driver was unloaded.
Status NvmlSource::TakeCodes(size_t end) {
  for (size_t i = pass_->first; i < end; ++i) {
    const nvmlReturn_t code = pass_->codes[i];
    if (DriverIsGone(code)) {
      return NvmlStatus(library_->api, code, library_->name + ": the driver was unloaded");
    }
    last_failure_ = code == abi::NVML_SUCCESS ? last_failure_ : code;
    const auto slot = std::ranges::find(slots_, pass_->devices[i]->address().uuid, &NvmlSlot::uuid);
    if (slot != slots_.end()) {
      slot->is_read = code == abi::NVML_SUCCESS;
      slot->absence = AbsenceOfNvmlCode(code);
    }
  }
  return absl::OkStatus();
}

bool NvmlSource::IsHung(const std::string& uuid) const {
  return std::ranges::any_of(hung_, [&](const Hung& hung) { return hung.gpu.uuid == uuid; });
}

bool NvmlSource::IsHung(uint32_t index) const {
  return std::ranges::find(hung_, index, &Hung::index) != hung_.end();
}

Status NvmlSource::DisconnectIfStale(const Grid& grid) {
  for (size_t column = 0; column < grid.topology().entities.size(); ++column) {
    if (grid.HasFreshNumbers(EntityId{static_cast<uint16_t>(column)}, stale_after_)) {
      stale_.Reset();
      return absl::OkStatus();
    }
  }
  if (!stale_.IsRestartDue(clock_.Now())) {
    return absl::OkStatus();
  }
  Close();
  std::string why;
  if (!hung_.empty()) {
    why = absl::StrFormat(" (a call has not returned for %d of them)", hung_.size());
  } else if (last_failure_ != abi::NVML_SUCCESS) {
    why = absl::StrFormat(" (last failure: %s)", NvmlWords(library_->api, last_failure_));
  }
  return absl::UnavailableError(
      absl::StrFormat("%s answers but gives no fresh sample of any device%s; initialising it again",
                      library_->name, why));
}

void NvmlSource::Close() {
  events_.Stop();
  history_.TakeXids(events_, slots_);
  devices_.clear();
  pass_->devices.clear();
  for (NvmlSlot& slot : slots_) {
    slot.device = nullptr;
  }
  for (NvmlScannedDevice& device : found_) {  // Identities stay; handles become invalid.
    device.address.gpu.handle = nullptr;
    device.address.instances.clear();
  }
  history_.ForgetXids();
  if (is_open_ && hung_.empty()) {
    call_thread_.Run(std::make_shared<NvmlShutdown>(library_, samples_));
  }
  is_open_ = false;
}

}  // namespace podgpu
