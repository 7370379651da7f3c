#include "source/testing/fake_dcgm_table.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "source/testing/fake_dcgm_values.h"

namespace podgpu {

using namespace abi;  // NOLINT(google-build-using-namespace): this file speaks the vendor's names.

void FakeDcgm::SetRaw(const dcgmFieldValue_v2& raw) {
  const std::lock_guard<std::mutex> lock(mutex_);
  values_[{raw.entityGroupId, raw.entityId, raw.fieldId}] = raw;
}

void FakeDcgm::SetInt64(int group, uint32_t entity, uint16_t field, int64_t number) {
  dcgmFieldValue_v2 raw = MakeRawValue(group, entity, field);
  raw.fieldType = DCGM_FT_INT64;
  raw.ts = sample_time_us;
  raw.value.i64 = number;
  SetRaw(raw);
}

void FakeDcgm::AddSample(uint32_t gpu, uint16_t field, int64_t number, int64_t stamp_us) {
  dcgmFieldValue_v2 raw = MakeRawValue(DCGM_FE_GPU, gpu, field);
  raw.ts = stamp_us;
  raw.value.i64 = number;
  SetRaw(raw);
  const std::lock_guard<std::mutex> lock(mutex_);
  samples_[{raw.entityGroupId, gpu, field}].push_back(raw);
}

void FakeDcgm::SetDouble(int group, uint32_t entity, uint16_t field, double number) {
  dcgmFieldValue_v2 raw = MakeRawValue(group, entity, field);
  raw.fieldType = DCGM_FT_DOUBLE;
  raw.ts = sample_time_us;
  raw.value.dbl = number;
  SetRaw(raw);
}

void FakeDcgm::SetString(int group, uint32_t entity, uint16_t field, const std::string& text) {
  dcgmFieldValue_v2 raw = MakeRawValue(group, entity, field);
  raw.fieldType = DCGM_FT_STRING;
  raw.ts = sample_time_us;
  PutText(raw.value.str, text);
  SetRaw(raw);
}

void FakeDcgm::SetStatus(int group, uint32_t entity, uint16_t field, dcgmReturn_t status) {
  dcgmFieldValue_v2 raw = MakeRawValue(group, entity, field);
  raw.status = status;
  PutBlank(raw);
  SetRaw(raw);
}

void FakeDcgm::Tamper(int group, uint32_t entity, uint16_t field,
                      std::function<void(dcgmFieldValue_v2&)> change) {
  const std::lock_guard<std::mutex> lock(mutex_);
  changes_[{group, entity, field}] = std::move(change);
}

void FakeDcgm::Fail(const std::string& symbol, dcgmReturn_t code, int times) {
  const std::lock_guard<std::mutex> lock(mutex_);
  failures_[symbol] = {code, times};
}

void FakeDcgm::Heal(const std::string& symbol) {
  const std::lock_guard<std::mutex> lock(mutex_);
  failures_.erase(symbol);
  faults_.erase(symbol);
  FreeLocked([&](const Blocked& call) { return call.symbol == symbol; });
}

void FakeDcgm::Inject(const std::string& symbol, FakeFault fault) {
  const std::lock_guard<std::mutex> lock(mutex_);
  faults_[symbol] = std::move(fault);
}

void FakeDcgm::Free(const std::string& symbol) {
  const std::lock_guard<std::mutex> lock(mutex_);
  FreeLocked([&](const Blocked& call) { return call.symbol == symbol; });
}

void FakeDcgm::Hang(const std::string& symbol) {
  const std::lock_guard<std::mutex> lock(mutex_);
  to_hang_.insert(symbol);
}

void FakeDcgm::AwaitHanging() {
  std::unique_lock<std::mutex> lock(mutex_);
  changed_.wait(lock, [&] { return !blocked_.empty(); });
}

void FakeDcgm::Kill() {
  const std::lock_guard<std::mutex> lock(mutex_);
  KillLocked();
}

void FakeDcgm::SetDown(bool down) {
  const std::lock_guard<std::mutex> lock(mutex_);
  down_ = down;
  if (down) {
    KillLocked();
  }
}

void FakeDcgm::KillLocked() {
  connected_ = false;
  ForgetGroupsLocked();
}

void FakeDcgm::ForgetGroups() {
  const std::lock_guard<std::mutex> lock(mutex_);
  ForgetGroupsLocked();
}

void FakeDcgm::ForgetEntity(int group, uint32_t entity) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (Watch& watch : watches_) {
    watch.dropped.emplace(group, entity);
  }
  for (auto& [id, members] : groups_) {
    members.members.erase({group, entity});
  }
}

void FakeDcgm::ForgetGroupsLocked() {
  groups_.clear();
  health_groups_.clear();
  field_groups_.clear();
  field_group_names_.clear();
  watches_.clear();
}

template <typename Predicate>
void FakeDcgm::FreeLocked(Predicate is_meant) {
  for (Blocked& call : blocked_) {
    if (!call.is_free && is_meant(call)) {
      call.is_free = true;
      if (on_block) {
        on_block(call.thread, false);
      }
    }
  }
  changed_.notify_all();
}

void FakeDcgm::DisconnectLocked() {
  KillLocked();
  FreeLocked([](const Blocked& call) { return call.until_disconnect; });
}

void FakeDcgm::Block(const std::string& symbol, bool until_disconnect,
                     std::unique_lock<std::mutex>& lock) {
  const auto self =
      blocked_.insert(blocked_.end(), {symbol, until_disconnect, std::this_thread::get_id()});
  if (on_block) {
    on_block(self->thread, true);
  }
  changed_.notify_all();
  changed_.wait(lock, [&] { return self->is_free; });
  blocked_.erase(self);
}

// Returns the code with which `symbol` must fail; 0 when it must not.
dcgmReturn_t FakeDcgm::Meet(const std::string& symbol, std::unique_lock<std::mutex>& lock) {
  const auto found = faults_.find(symbol);
  if (found == faults_.end()) {
    return DCGM_ST_OK;
  }
  const dcgmReturn_t code = found->second.code;
  const FakeFault::Block block = found->second.block;
  if (found->second.kills_engine) {
    down_ = true;
    KillLocked();
    return DCGM_ST_CONNECTION_NOT_VALID;
  }
  if (block != FakeFault::Block::kNone) {
    Block(symbol, block == FakeFault::Block::kUntilDisconnect, lock);
  }
  return code;
}

void FakeDcgm::SpoilLocked(const std::string& symbol, std::initializer_list<FakeOut> outs) {
  const auto found = faults_.find(symbol);
  if (found != faults_.end() && found->second.spoil) {
    found->second.spoil(std::span(outs.begin(), outs.size()));
  }
}

dcgmReturn_t FakeDcgm::Enter(const std::string& symbol, std::unique_lock<std::mutex>& lock) {
  called_.insert(symbol);
  if (symbol.starts_with("dcgm")) {  // The other two symbols do not reach an engine.
    calls_.push_back(symbol);
  }
  if (to_hang_.erase(symbol) == 1) {
    Block(symbol, true, lock);
    return DCGM_ST_CONNECTION_NOT_VALID;
  }
  if (const dcgmReturn_t code = Meet(symbol, lock); code != DCGM_ST_OK) {
    return code;
  }
  const auto found = failures_.find(symbol);
  if (found == failures_.end() || found->second.times == 0) {
    return DCGM_ST_OK;
  }
  found->second.times -= found->second.times > 0 ? 1 : 0;
  return found->second.code;
}

bool FakeDcgm::IsWatchedLocked(const Key& key) const {
  const auto& [group, entity, field] = key;
  const std::pair<int, uint32_t> member(group, entity);
  return std::ranges::any_of(watches_, [&, id = field](const Watch& watch) {
    const auto found = groups_.find(watch.group);
    const auto fields = field_groups_.find(watch.fields);
    return found != groups_.end() && found->second.members.contains(member) &&
           !watch.dropped.contains(member) && fields != field_groups_.end() &&
           std::ranges::find(fields->second, id) != fields->second.end();
  });
}

dcgmFieldValue_v2 FakeDcgm::Answer(int group, uint32_t entity, uint16_t field, bool live) const {
  constexpr uint16_t kName = 50;
  const auto instance = std::ranges::find(instances, entity, &FakeGpuInstance::entity_id);
  if (live && field == kName && group == DCGM_FE_GPU_I && instance != instances.end()) {
    dcgmFieldValue_v2 raw = MakeRawValue(group, entity, field);
    raw.ts = sample_time_us;
    PutText(raw.value.str, instance->profile);
    return raw;
  }
  const auto found = values_.find({group, entity, field});
  const bool is_watched = live || IsWatchedLocked({group, entity, field});
  dcgmFieldValue_v2 raw = MakeRawValue(group, entity, field);
  if (is_watched && found != values_.end()) {
    raw = found->second;
  } else if (!is_watched || !measure || !measure(raw)) {
    raw.status = is_watched ? DCGM_ST_NO_DATA : DCGM_ST_NOT_WATCHED;
    PutBlank(raw);
  }
  if (const auto change = changes_.find({group, entity, field}); change != changes_.end()) {
    change->second(raw);
  }
  return raw;
}

// Reports the samples of a watched cell from `since_us` on, or one answer without data.
std::vector<dcgmFieldValue_v2> FakeDcgm::AnswerSince(const Key& key, int64_t since_us) const {
  const auto& [group, entity, field] = key;
  std::vector<dcgmFieldValue_v2> answers;
  if (const auto found = samples_.find(key); found != samples_.end()) {
    std::ranges::copy_if(found->second, std::back_inserter(answers),
                         [&](const dcgmFieldValue_v2& raw) { return raw.ts >= since_us; });
  } else if (const dcgmFieldValue_v2 newest = Answer(group, entity, field, false);
             newest.ts >= since_us) {
    answers.push_back(newest);
  }
  if (answers.empty()) {
    answers.push_back(MakeRawValue(group, entity, field));
    answers.back().status = DCGM_ST_NO_DATA;
    PutBlank(answers.back());
  }
  return answers;
}

std::vector<std::string> FakeDcgm::calls() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return calls_;
}

std::set<std::string> FakeDcgm::called() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return called_;
}

int FakeDcgm::CountOf(const std::string& symbol) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return static_cast<int>(std::ranges::count(calls_, symbol));
}

void FakeDcgm::ForgetCalls() {
  const std::lock_guard<std::mutex> lock(mutex_);
  called_.clear();
  std::vector<std::string>().swap(calls_);  // Also frees the memory, which a test may count.
  std::vector<uint32_t>().swap(live_flags_);
}

bool FakeDcgm::IsWatched(int group, uint32_t entity, uint16_t field) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return IsWatchedLocked({group, entity, field});
}

double FakeDcgm::KeepOf(uint16_t field) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const Watch& watch : watches_) {
    const auto found = field_groups_.find(watch.fields);
    if (found != field_groups_.end() &&
        std::ranges::find(found->second, field) != found->second.end()) {
      return watch.keep_s;
    }
  }
  return 0;
}

long long FakeDcgm::PeriodOf(uint16_t field) const {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const Watch& watch : watches_) {
    const auto found = field_groups_.find(watch.fields);
    if (found != field_groups_.end() &&
        std::ranges::find(found->second, field) != found->second.end()) {
      return watch.period_us;
    }
  }
  return 0;
}

size_t FakeDcgm::group_count() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return groups_.size();
}

size_t FakeDcgm::field_group_count() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return field_groups_.size();
}

std::string FakeDcgm::last_address() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return last_address_;
}

uint32_t FakeDcgm::last_timeout_ms() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return last_timeout_ms_;
}

std::vector<uint32_t> FakeDcgm::live_flags() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return live_flags_;
}

}  // namespace podgpu
