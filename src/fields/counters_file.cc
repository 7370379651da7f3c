#include "fields/counters_file.h"

#include "absl/strings/str_format.h"

#include "fields/csv_records.h"

namespace podgpu {

CountersFile::CountersFile(std::string path, const Files& files, const ListsOfRelease& release,
                           std::string setting)
    : path_(path.empty() ? std::string(kDefaultCountersPath) : std::move(path)),
      files_(files),
      release_(release),
      setting_(std::move(setting)) {}

StatusOr<Counters> CountersFile::Load() {
  changed_.reset();
  return Judge(Look());
}

std::optional<StatusOr<Counters>> CountersFile::LoadIfChanged() {
  Sight sight = Look();
  if (sight == judged_) {
    changed_.reset();
    return std::nullopt;
  }
  if (changed_ != sight) {
    changed_ = std::move(sight);
    return std::nullopt;
  }
  changed_.reset();
  return Judge(std::move(sight));
}

CountersFile::Sight CountersFile::Look() const {
  StatusOr<std::string> content = files_.Read(path_);
  if (content.ok()) {
    if (Status size = CheckCsvSize(*content, path_); !size.ok()) {
      return {std::move(size), std::nullopt};  // The content is not kept.
    }
    return {absl::OkStatus(), *std::move(content)};
  }
  if (content.status().code() == absl::StatusCode::kNotFound && BuiltInListFor(path_)) {
    return {};
  }
  return {absl::InvalidArgumentError(absl::StrFormat("counters file %s. Correct %s",
                                                     content.status().message(), setting_)),
          std::nullopt};
}

StatusOr<Counters> CountersFile::Judge(Sight sight) {
  judged_ = std::move(sight);
  PODGPU_RETURN_IF_ERROR(judged_.status);
  if (judged_.content) {
    return ParseList(*judged_.content, path_, release_);
  }
  const std::optional<BuiltInList> list = BuiltInListFor(path_, release_);
  PODGPU_CHECK(list.has_value());  // Look() says so.
  return ParseBuiltIn(*list, release_);
}

}  // namespace podgpu
