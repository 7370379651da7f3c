#include "health/added_warnings.h"

#include <utility>

#include "base/log.h"

namespace podgpu {

void AddedWarnings::Set(std::vector<std::string> warnings) {
  if (warnings == warnings_) {
    return;
  }
  warnings_ = std::move(warnings);
  returned_.reset();
  for (const std::string& warning : warnings_) {
    Log(LogLevel::kWarn, "configuration entry has no effect", {{"what", warning}});
  }
}

std::shared_ptr<const ConfigNotes> AddedWarnings::AddTo(
    const std::shared_ptr<const ConfigNotes>& notes) {
  if (warnings_.empty()) {
    return notes;
  }
  if (returned_ == nullptr || notes_ != notes) {
    auto more = std::make_shared<ConfigNotes>(*notes);
    more->warnings.insert(more->warnings.end(), warnings_.begin(), warnings_.end());
    notes_ = notes;
    returned_ = std::move(more);
  }
  return returned_;
}

}  // namespace podgpu
