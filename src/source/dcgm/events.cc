#include "source/dcgm/events.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/strings/str_format.h"

#include "base/log.h"
#include "fields/field_ids.h"
#include "source/dcgm/error.h"
#include "source/source.h"

namespace podgpu {
namespace {

using abi::dcgmReturn_t;

constexpr size_t kXids = 0;
constexpr size_t kClocks = 1;
constexpr std::array<uint16_t, 2> kFields = {field_ids::kXid, field_ids::kClockReasons};

// More than an engine keeps for one field in ten minutes at 100 ms.
constexpr size_t kMostSamplesPerReply = 16'384;

// A value of one GPU and one field.
struct RawSample {
  int status;
  uint16_t type;
  int64_t stamp_us;
  int64_t value;
};

// Returns whether this is a sample: not blank, of the type that both fields have, with a stamp.
bool IsSample(const RawSample& raw) {
  return raw.status == abi::DCGM_ST_OK && raw.type == abi::DCGM_FT_INT64 && raw.stamp_us > 0 &&
         raw.value >= 0 && raw.value < abi::DCGM_INT32_BLANK;
}

}  // namespace

void DcgmEvents::Follow(abi::dcgmHandle_t handle, const Topology& topology,
                        std::chrono::microseconds period) {
  period_ = period;
  const bool same = std::ranges::equal(topology.gpus, devices_, {}, &Gpu::gpu_id, &Device::gpu_id);
  if (!same) {
    Renew(handle);
    // A GPU that stays keeps its cells; else its samples would be counted again.
    const std::vector<Device> before = std::exchange(devices_, {});
    for (const Gpu& gpu : topology.gpus) {
      const auto known = std::ranges::find(before, gpu.gpu_id, &Device::gpu_id);
      if (known != before.end()) {
        devices_.push_back(*known);
      } else {
        devices_.emplace_back().gpu_id = gpu.gpu_id;
      }
    }
  }
  counts_.Follow(topology, clock_.WallNow());
}

void DcgmEvents::Renew(abi::dcgmHandle_t handle) {
  for (Device& device : devices_) {
    if (device.group) {
      library_.api.dcgmGroupDestroy(handle, *device.group);
      device.group.reset();
    }
  }
}

void DcgmEvents::Forget() {
  field_groups_ = {};
  for (Device& device : devices_) {
    device.group.reset();
  }
}

void DcgmEvents::See(const abi::dcgmFieldValue_v2& raw) {
  const auto field = std::ranges::find(kFields, raw.fieldId);
  if (field == kFields.end() || raw.entityGroupId != abi::DCGM_FE_GPU) {
    return;
  }
  const auto device = std::ranges::find(devices_, raw.entityId, &Device::gpu_id);
  if (device == devices_.end()) {
    return;
  }
  const auto index = static_cast<size_t>(field - kFields.begin());
  Cell& cell = device->cells[index];
  if (!IsSample({raw.status, raw.fieldType, raw.ts, raw.value.i64})) {
    cell.is_answered = index == kXids && raw.status == abi::DCGM_ST_NO_DATA;
    return;
  }
  cell.is_answered = true;
  cell.newest = {raw.ts, raw.value.i64};
  // A smaller stamp is news too: the clock of the engine was set back.
  cell.has_news = raw.ts != cell.seen_us;
}

Status DcgmEvents::Collect(abi::dcgmHandle_t handle, Grid& grid) {
  // A sample with a stamp in the far future would never leave the window.
  const int64_t latest_us = ToMicroseconds(grid.read_at_wall + std::chrono::hours(24));
  for (size_t gpu = 0; gpu < devices_.size(); ++gpu) {
    for (size_t field = 0; field < kFieldCount; ++field) {
      Cell& cell = devices_[gpu].cells[field];
      const bool is_wanted = field == kXids || grid.findings.asked.clock_window.count() > 0;
      const bool is_due = cell.has_news && is_wanted && cell.newest.stamp_us <= latest_us;
      cell.has_news = false;
      if (is_due) {
        PODGPU_RETURN_IF_ERROR(CollectCell(handle, gpu, field, grid));
      }
    }
  }
  counts_.Fill(grid.read_at_wall, grid.findings);
  PODGPU_CHECK(grid.findings.gpus.size() == devices_.size());
  NoteKnownCounts(grid.findings);
  grid.findings.events_note = note_;
  return absl::OkStatus();
}

Status DcgmEvents::CollectCell(abi::dcgmHandle_t handle, size_t gpu, size_t field,
                               const Grid& grid) {
  Device& device = devices_[gpu];
  Cell& cell = device.cells[field];
  const Sample newest = cell.newest;
  reply_.clear();
  if (newest.stamp_us < cell.seen_us) {
    // The engine's clock was set back: its other samples have stamps that cannot be compared.
    field == kXids ? counts_.ForgetXidWindow(gpu, newest.stamp_us)
                   : counts_.ForgetClockWindow(gpu, newest.stamp_us);
    cell.seen_us = newest.stamp_us;
    Count(gpu, field, newest);
    return absl::OkStatus();
  }
  const bool is_first = cell.seen_us == 0;
  int64_t since_us = cell.seen_us + 1;
  // Clock reasons are sampled every period: without a gap no sample was missed.
  const bool has_gap = newest.stamp_us - cell.seen_us > period_.count() + period_.count() / 2;
  if (field == kXids || has_gap) {
    if (field == kClocks &&
        is_first) {  // What is older counts neither in the window nor in totals.
      const auto window_start = grid.read_at_wall - grid.findings.asked.clock_window;
      since_us = std::max(since_us, ToMicroseconds(window_start));
    }
    Status answer = AskForSamples(handle, device, field, since_us);
    if (LostConnection(answer)) {
      return answer;
    }
    NoteAnswer(answer);
  }
  // Samples that are newer than the reading belong to the next one.
  std::erase_if(reply_, [&](const Sample& sample) {
    return sample.stamp_us < since_us || sample.stamp_us > newest.stamp_us;
  });
  std::ranges::stable_sort(reply_, {}, &Sample::stamp_us);
  if (reply_.empty() || reply_.back().stamp_us < newest.stamp_us) {
    reply_.push_back(newest);
  }
  for (const Sample& sample : reply_) {
    Count(gpu, field, sample);
  }
  cell.seen_us = newest.stamp_us;
  return absl::OkStatus();
}

void DcgmEvents::NoteAnswer(const Status& answer) {
  if (answer.message() == failure_) {
    return;
  }
  failure_ = std::string(answer.message());
  note_ = answer.ok()
              ? nullptr
              : std::make_shared<const FindingsNote>(FindingsNote{
                    true, "of several events between two readings only the last is counted: " +
                              failure_});
  Log(answer.ok() ? LogLevel::kInfo : LogLevel::kWarn,
      answer.ok() ? "the engine returns all samples of XIDs and clock events again"
                  : "the engine returns no past samples; of several XIDs or clock events between "
                    "two readings only the last is counted",
      {{"reason", failure_}});
}

void DcgmEvents::Count(size_t gpu, size_t field, const Sample& sample) {
  if (field == kXids) {
    counts_.AddXid(gpu, sample.value, sample.stamp_us);
  } else {
    counts_.AddClocks(gpu, sample.value, sample.stamp_us);
  }
}

Status DcgmEvents::AskForSamples(abi::dcgmHandle_t handle, Device& device, size_t field,
                                 int64_t since_us) {
  if (!library_.Has(abi::DcgmCapability::kSamples)) {
    return absl::UnimplementedError(library_.name + " lacks dcgmGetValuesSince_v2");
  }
  PODGPU_RETURN_IF_ERROR(MakeGroups(handle, device, field));
  asked_gpu_ = device.gpu_id;
  asked_field_ = kFields[field];
  long long next_us = 0;
  const dcgmReturn_t code = library_.api.dcgmGetValuesSince_v2(handle, device.group.value_or(0),
                                                               field_groups_[field].value_or(0),
                                                               since_us, &next_us, &Take, this);
  if (code == abi::DCGM_ST_OK) {
    return absl::OkStatus();
  }
  reply_.clear();
  return DcgmStatus(library_.api, code, "does not return the samples of a field");
}

Status DcgmEvents::MakeGroups(abi::dcgmHandle_t handle, Device& device, size_t field) {
  if (!field_groups_[field]) {
    abi::dcgmFieldGrp_t group = 0;
    const std::string name =
        absl::StrFormat("podgpu-samples-%x-%d", ToMicroseconds(clock_.WallNow()), kFields[field]);
    PODGPU_RETURN_IF_ERROR(DcgmStatus(
        library_.api,
        library_.api.dcgmFieldGroupCreate(handle, 1, &kFields[field], name.c_str(), &group),
        "cannot create a field group"));
    field_groups_[field] = group;
  }
  if (!device.group) {
    abi::dcgmGpuGrp_t group = 0;
    const std::string name = absl::StrFormat("podgpu-samples-%d", device.gpu_id);
    PODGPU_RETURN_IF_ERROR(DcgmStatus(
        library_.api,
        library_.api.dcgmGroupCreate(handle, abi::DCGM_GROUP_EMPTY, name.c_str(), &group),
        "cannot create a device group", "Another client may hold all of its 64 groups"));
    const dcgmReturn_t added =
        library_.api.dcgmGroupAddEntity(handle, group, abi::DCGM_FE_GPU, device.gpu_id);
    if (added != abi::DCGM_ST_OK) {
      library_.api.dcgmGroupDestroy(handle, group);
      return DcgmStatus(library_.api, added, "cannot add a device to its group");
    }
    device.group = group;
  }
  return absl::OkStatus();
}

// The engine's callback.  It may also return values of other GPUs or fields, which are skipped.
int DcgmEvents::Take(abi::dcgm_field_entity_group_t group, abi::dcgm_field_eid_t entity,
                     abi::dcgmFieldValue_v1* values, int count, void* user) {
  auto& self = *static_cast<DcgmEvents*>(user);
  if (group != abi::DCGM_FE_GPU || entity != self.asked_gpu_ || values == nullptr) {
    return 0;
  }
  for (int i = 0; i < count && self.reply_.size() < kMostSamplesPerReply; ++i) {
    const abi::dcgmFieldValue_v1& raw = *std::next(values, i);
    if (raw.fieldId == self.asked_field_ &&
        IsSample({raw.status, raw.fieldType, raw.ts, raw.value.i64})) {
      self.reply_.push_back({raw.ts, raw.value.i64});
    }
  }
  return 0;
}

// "No sample" is an answer for XIDs only; clock reasons are sampled every period.
void DcgmEvents::NoteKnownCounts(Findings& findings) {
  for (size_t gpu = 0; gpu < findings.gpus.size(); ++gpu) {
    GpuEventCounts& counts = findings.gpus[gpu];
    const auto& cells = devices_[gpu].cells;
    counts.xids_known = cells[kXids].is_answered || counts.xids > 0;
    counts.clocks_known = findings.asked.clock_window.count() > 0 &&
                          (cells[kClocks].is_answered || counts.clock_samples > 0);
  }
  for (Device& device : devices_) {
    for (Cell& cell : device.cells) {
      cell.is_answered = false;
    }
  }
}

}  // namespace podgpu
