#include "source/nvml/device.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "abi/nvml_readings.h"
#include "source/nvml/error.h"

namespace podgpu {
namespace {

using abi::nvmlReturn_t;
using std::chrono::milliseconds;

// Codes after which no further call about the device is useful.
bool IsEndOfReading(nvmlReturn_t code) {
  return code == abi::NVML_ERROR_UNINITIALIZED || code == abi::NVML_ERROR_DRIVER_NOT_LOADED ||
         code == abi::NVML_ERROR_GPU_IS_LOST;
}

// The code of a field value before the driver has set it; no code of NVML.
constexpr auto kUnanswered = static_cast<nvmlReturn_t>(0x7fff'ffff);

bool IsUnanswered(const abi::nvmlFieldValue_t& value) { return value.nvmlReturn == kUnanswered; }

// Returns whether an instance has its own value; else it has its GPU's.
bool IsOfInstance(const NvmlRecipe& recipe) {
  return NeedsGpm(recipe) || recipe.call == NvmlCall::kMemory ||
         recipe.call == NvmlCall::kUtilization || recipe.call == NvmlCall::kCoder ||
         (recipe.call == NvmlCall::kGpuText &&
          recipe.argument == static_cast<int>(NvmlText::kName));
}

uint32_t AgeOf(int64_t stamp_us, WallTime now) {
  const int64_t age_ms = stamp_us == 0 ? 0 : (ToMicroseconds(now) - stamp_us) / 1000;
  return static_cast<uint32_t>(
      std::clamp<int64_t>(age_ms, 0, std::numeric_limits<uint32_t>::max()));
}

Value OfNumber(const NvmlPlan::Column& column, int64_t number, uint32_t age_ms) {
  return number < column.lowest || number > column.highest ? Value::OfAbsence(Absence::kOutOfRange)
                                                           : Value::OfInt64(number, age_ms);
}

Value OfReal(const NvmlPlan::Column& column, double real, uint32_t age_ms) {
  return !std::isfinite(real) || real < static_cast<double>(column.lowest) ||
                 real > static_cast<double>(column.highest)
             ? Value::OfAbsence(Absence::kOutOfRange)
             : Value::OfDouble(real, age_ms);
}

}  // namespace

NvmlDevice::NvmlDevice(std::shared_ptr<const abi::NvmlLibrary> library,
                       std::shared_ptr<NvmlSamples> samples, NvmlAddress address)
    : library_(std::move(library)),
      samples_(std::move(samples)),
      address_(std::move(address)),
      gpm_(library_, samples_, address_.gpu.handle, std::nullopt) {
  instances_.reserve(address_.instances.size());
  for (const NvmlInstanceHandle& instance : address_.instances) {
    instances_.push_back(
        {NvmlGpm(library_, samples_, address_.gpu.handle, instance.gpu_instance_id), {}, {}});
  }
}

nvmlReturn_t NvmlDevice::Read(const std::shared_ptr<const NvmlPlan>& plan,
                              const ReadOptions& options) {
  Prepare(plan);
  FindDue(options);
  if (const nvmlReturn_t code = ReadDue(options); code != abi::NVML_SUCCESS) {
    pace_read_at_.assign(plan->paces.size(), std::nullopt);
    return code;
  }
  for (size_t i = 0; i < instances_.size(); ++i) {
    ReadInstance(i, options);
  }
  if (reads_all_) {
    all_read_at_ = options.now;
  }
  for (size_t pace = 0; pace < pace_read_at_.size(); ++pace) {
    if (pace_is_due_[pace]) {
      pace_read_at_[pace] = options.now;
    }
  }
  return abi::NVML_SUCCESS;
}

// Returns the code that ends the reading, or success.
nvmlReturn_t NvmlDevice::ReadDue(const ReadOptions& options) {
  AskForValues();
  if (IsEndOfReading(values_code_)) {
    return values_code_;
  }
  if (samples_are_due_) {
    Profile(gpm_, options);
  }
  for (size_t i = 0; i < cells_.size(); ++i) {
    if (!due_[i]) {
      continue;
    }
    if (NeedsGpm(plan_->columns[i].recipe)) {
      cells_[i] = OfMetric(plan_->columns[i], gpm_, options);
    } else {
      NvmlRaw raw = Ask(i);
      if (IsEndOfReading(raw.code)) {
        return raw.code;
      }
      cells_[i] = Keep(i, std::move(raw), options.wall);
    }
    read_at_[i] = now_;
  }
  return abi::NVML_SUCCESS;
}

void NvmlDevice::Prepare(const std::shared_ptr<const NvmlPlan>& plan) {
  answers_ = {};
  if (plan_ == plan) {
    return;
  }
  plan_ = plan;
  cells_.assign(plan->columns.size(), Value());
  texts_.assign(plan->columns.size(), std::string());
  counted_.assign(plan->columns.size(), Counted());
  values_.assign(plan->requests.size(), {});
  read_at_.assign(plan->columns.size(), Instant());
  due_.assign(plan->columns.size(), true);
  pace_is_due_.assign(plan->paces.size(), true);
  pace_read_at_.assign(plan->paces.size(), std::nullopt);
  for (Instance& instance : instances_) {
    instance.cells.assign(plan->columns.size(), Value());
  }
  if (plan->metrics.empty()) {
    gpm_.Pause();
  } else if (metrics_request_ == nullptr) {
    metrics_request_ = std::make_unique<abi::nvmlGpmMetricsGet_t>();
  }
}

// A pace is due when less than half of the time between two readings is left: readings come a
// little early or late.
void NvmlDevice::FindDue(const ReadOptions& options) {
  now_ = options.now;
  reads_all_ = !all_read_at_ || now_ - *all_read_at_ >= kSlowEvery;
  for (size_t pace = 0; pace < pace_read_at_.size(); ++pace) {
    const std::optional<Instant>& last = pace_read_at_[pace];
    pace_is_due_[pace] = !last || now_ - *last + plan_->reading_period / 2 >= plan_->paces[pace];
  }
  samples_are_due_ = false;
  for (size_t i = 0; i < due_.size(); ++i) {
    due_[i] = plan_->paces.empty() ? IsDue(i) : IsDueByPace(i, options);
    samples_are_due_ = samples_are_due_ || (due_[i] && NeedsGpm(plan_->columns[i].recipe));
  }
}

bool NvmlDevice::IsDue(size_t column) const {
  const Value& last = cells_[column];
  const NvmlRecipe& recipe = plan_->columns[column].recipe;
  const bool never_read = !last.present() && last.absence() == Absence::kNotRead;
  const bool is_rare =
      recipe.is_slow || (!last.present() && last.absence() == Absence::kNotSupported);
  return reads_all_ || never_read || !is_rare || NeedsGpm(recipe);
}

bool NvmlDevice::IsDueByPace(size_t column, const ReadOptions& options) const {
  const Value& last = cells_[column];
  const NvmlPlan::Column& planned = plan_->columns[column];
  if (NeedsGpm(planned.recipe)) {  // A pause counts at once.
    return pace_is_due_[planned.pace] || !options.profiles || AwaitsSecondSample(column);
  }
  if (!last.present() && last.absence() == Absence::kNotRead) {
    return true;
  }
  const bool is_asked_for_instances = IsOfInstance(planned.recipe) && !instances_.empty();
  const bool is_unsupported =
      !last.present() && last.absence() == Absence::kNotSupported && !is_asked_for_instances;
  if (is_unsupported && now_ - read_at_[column] + plan_->reading_period / 2 < kSlowEvery) {
    return false;
  }
  return pace_is_due_[planned.pace] || AwaitsSecondSample(column);
}

// Profiling values and rates need two samples; the first value must not wait for a second interval.
bool NvmlDevice::AwaitsSecondSample(size_t column) const {
  const NvmlRecipe& recipe = plan_->columns[column].recipe;
  const auto awaits = [](const Value& value) {
    return !value.present() && value.absence() != Absence::kNotSupported;
  };
  if (NeedsGpm(recipe)) {
    return awaits(cells_[column]) || std::ranges::any_of(instances_, [&](const Instance& instance) {
             return awaits(instance.cells[column]);
           });
  }
  return recipe.call == NvmlCall::kLinkRate && cells_[column].present() &&
         !counted_[column].has_rate;
}

Value NvmlDevice::Aged(size_t column, const Value& value) const {
  if (plan_->paces.empty() || !value.present()) {
    return value;
  }
  const Duration since = now_ - read_at_[column];
  const bool counts_as_fresh = plan_->columns[column].recipe.is_slow && since <= kSlowEvery;
  return counts_as_fresh ? value
                         : value.OlderBy(std::chrono::duration_cast<milliseconds>(since).count());
}

// One call for all field values that are due; each value has its own result code.
void NvmlDevice::AskForValues() {
  values_code_ = abi::NVML_SUCCESS;
  asked_.clear();
  for (const NvmlPlan::Request& request : plan_->requests) {
    if (due_[request.column]) {
      abi::nvmlFieldValue_t& value = asked_.emplace_back();
      value.fieldId = request.field_id;
      value.scopeId = request.scope;
      value.nvmlReturn = kUnanswered;
    }
  }
  if (asked_.empty()) {
    return;
  }
  values_code_ = Fill(asked_);
  if (values_code_ == abi::NVML_SUCCESS) {
    AskForUnansweredValues();
  }
  auto next = asked_.begin();
  for (size_t i = 0; i < values_.size(); ++i) {
    if (due_[plan_->requests[i].column]) {
      values_[i] = *next++;
    }
  }
}

// The driver can answer a list with success and leave some of its values as they were, but gives
// these when it is asked for them alone: a list with a field of C2C links hides 45 others on a
// board without such links (driver 580.159.04, H200, measured 2026-11-27).
void NvmlDevice::AskForUnansweredValues() {
  unanswered_.clear();
  std::ranges::copy_if(asked_, std::back_inserter(unanswered_), IsUnanswered);
  if (unanswered_.empty()) {
    return;
  }
  const nvmlReturn_t code = Fill(unanswered_);
  if (IsEndOfReading(code)) {
    values_code_ = code;
  }
  auto next = unanswered_.begin();
  for (abi::nvmlFieldValue_t& value : asked_) {
    if (IsUnanswered(value)) {
      value = *next++;
      if (IsUnanswered(value)) {
        value.nvmlReturn = code == abi::NVML_SUCCESS
                               ? static_cast<nvmlReturn_t>(abi::NVML_ERROR_NOT_SUPPORTED)
                               : code;
      }
    }
  }
}

nvmlReturn_t NvmlDevice::Fill(std::vector<abi::nvmlFieldValue_t>& values) const {
  return library_->api.nvmlDeviceGetFieldValues == nullptr
             ? static_cast<nvmlReturn_t>(abi::NVML_ERROR_FUNCTION_NOT_FOUND)
             : library_->api.nvmlDeviceGetFieldValues(
                   address_.gpu.handle, static_cast<int>(values.size()), values.data());
}

NvmlRaw NvmlDevice::Ask(size_t column) {
  const NvmlPlan::Column& planned = plan_->columns[column];
  switch (planned.recipe.call) {
    case NvmlCall::kFieldValue:
    case NvmlCall::kFieldMilliwatts:
      return values_code_ == abi::NVML_SUCCESS
                 ? OfFieldValue(planned.recipe, values_[planned.first])
                 : NvmlRaw::Failure(values_code_);
    case NvmlCall::kLinkRate:
      return AskLinkRate(column);
    case NvmlCall::kXid:  // Comes from events.
      return NvmlRaw::Failure(abi::NVML_ERROR_NO_DATA);
    default:
      return AskNvml(library_->api, address_.gpu, planned.recipe, answers_);
  }
}

// Computes the rate as DCGM does: KiB of a counter per second, divided by 1,000; 0 at the first
// reading.
NvmlRaw NvmlDevice::AskLinkRate(size_t column) {
  const NvmlPlan::Column& planned = plan_->columns[column];
  const bool is_both =
      (planned.recipe.argument & kSent) != 0 && (planned.recipe.argument & kReceived) != 0;
  if (values_code_ != abi::NVML_SUCCESS) {
    return NvmlRaw::Failure(values_code_);
  }
  NvmlRaw raw = OfFieldValue(planned.recipe, values_[planned.first]);
  if (is_both && raw.code == abi::NVML_SUCCESS) {
    const NvmlRaw received = OfFieldValue(planned.recipe, values_[planned.first + 1]);
    raw.code = received.code;
    raw.number += received.number;
  }
  if (raw.code != abi::NVML_SUCCESS) {
    counted_[column] = {};
    return raw;
  }
  const Counted before = std::exchange(counted_[column], Counted{raw.number, raw.stamp_us});
  counted_[column].has_rate = before.stamp_us != 0;
  const int64_t elapsed_us = raw.stamp_us - before.stamp_us;
  const bool has_rate = before.stamp_us != 0 && elapsed_us > 0 && raw.number >= before.number;
  raw.number = has_rate ? static_cast<int64_t>(static_cast<double>(raw.number - before.number) *
                                               1000.0 / static_cast<double>(elapsed_us))
                        : 0;
  return raw;
}

void NvmlDevice::Profile(NvmlGpm& gpm, const ReadOptions& options) {
  if (!options.profiles) {
    gpm.Pause(plan_->metrics.size());
    samples_->Free(library_->api);
  } else if (!plan_->metrics.empty()) {
    gpm.Read(plan_->metrics, options.now, *metrics_request_);
  }
}

Value NvmlDevice::OfMetric(const NvmlPlan::Column& column, const NvmlGpm& gpm,
                           const ReadOptions& options) const {
  const NvmlGpm::Metric& metric = gpm.metrics()[column.first];
  if (!options.profiles && metric.code == abi::NVML_ERROR_NO_DATA) {
    return Value::OfAbsence(Absence::kPaused);
  }
  if (metric.code != abi::NVML_SUCCESS) {
    return Value::OfAbsence(AbsenceOfNvmlCode(metric.code));
  }
  constexpr double kPercent = 100.0;
  constexpr double kBytesPerMib = 1'048'576.0;
  switch (column.recipe.call) {
    case NvmlCall::kGpm:
      return metric.value > kPercent ? Value::OfAbsence(Absence::kOutOfRange)
                                     : OfReal(column, metric.value / kPercent, 0);
    case NvmlCall::kGpmBytes: {
      const Value bytes = OfReal(column, metric.value * kBytesPerMib, 0);
      return bytes.present() && bytes.real() < 1e18
                 ? Value::OfInt64(static_cast<int64_t>(bytes.real()))
                 : Value::OfAbsence(Absence::kOutOfRange);
    }
    default: {
      const Value number = OfReal(column, metric.value, 0);
      return number.present() && number.real() < 1e18
                 ? Value::OfInt64(static_cast<int64_t>(number.real()))
                 : Value::OfAbsence(Absence::kOutOfRange);
    }
  }
}

Value NvmlDevice::Keep(size_t column, NvmlRaw raw, WallTime now) {
  if (raw.code != abi::NVML_SUCCESS) {
    return Value::OfAbsence(AbsenceOfNvmlCode(raw.code));
  }
  const NvmlPlan::Column& planned = plan_->columns[column];
  const uint32_t age_ms = AgeOf(raw.stamp_us, now);
  switch (raw.kind) {
    case NvmlRaw::Kind::kNumber:
      return OfNumber(planned, raw.number, age_ms);
    case NvmlRaw::Kind::kReal:
      return OfReal(planned, raw.real, age_ms);
    case NvmlRaw::Kind::kText:
      texts_[column] = std::move(raw.text);
      return Value::OfText(static_cast<uint32_t>(column), age_ms);
  }
  return {};
}

void NvmlDevice::ReadInstance(size_t index, const ReadOptions& options) {
  Instance& instance = instances_[index];
  instance.answers = {};
  if (samples_are_due_) {
    Profile(instance.gpm, options);
  }
  for (size_t i = 0; i < cells_.size(); ++i) {
    const NvmlPlan::Column& column = plan_->columns[i];
    if (!IsOfInstance(column.recipe)) {
      instance.cells[i] = cells_[i];
    } else if (!due_[i] && !plan_->paces.empty()) {
      continue;
    } else if (NeedsGpm(column.recipe)) {
      instance.cells[i] = OfMetric(column, instance.gpm, options);
    } else if (column.recipe.call == NvmlCall::kMemory) {
      instance.cells[i] =
          Keep(i,
               AskNvmlMemory(library_->api, address_.instances[index].handle,
                             static_cast<NvmlMemoryPart>(column.recipe.argument), instance.answers),
               options.wall);
    } else if (column.recipe.call == NvmlCall::kGpuText) {
      instance.cells[i] = Value::OfText(static_cast<uint32_t>(i));
    } else {
      instance.cells[i] = Value::OfAbsence(Absence::kNotSupported);
    }
  }
}

Value NvmlDevice::CellOf(size_t column, std::optional<size_t> instance) const {
  return Aged(column, instance ? instances_[*instance].cells[column] : cells_[column]);
}

const std::string& NvmlDevice::TextOf(size_t column, std::optional<size_t> instance) const {
  return instance && IsOfInstance(plan_->columns[column].recipe)
             ? address_.instances[*instance].profile
             : texts_[column];
}

void NvmlReadPass::Run() {
  codes.resize(devices.size(), abi::NVML_SUCCESS);
  for (size_t i = first; i < devices.size(); ++i) {
    if (!GoTo(static_cast<int>(i))) {
      return;
    }
    codes[i] = devices[i]->Read(plan, options);
  }
  GoTo(kNowhere);
}

}  // namespace podgpu
