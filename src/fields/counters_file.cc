#include "fields/counters_file.h"

#include "absl/strings/str_format.h"

#include "fields/csv_records.h"

namespace podgpu {
namespace {

constexpr std::string_view kNvlinkBandwidth = "DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL";

}  // namespace

CountersFile::CountersFile(std::string path, const Files& files, const ListsOfRelease& release)
    : path_(path.empty() ? std::string(kDefaultCountersPath) : std::move(path)),
      files_(files),
      release_(release) {}

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
  return {absl::InvalidArgumentError(absl::StrFormat("counters file %s. Correct --collectors (-f)",
                                                     content.status().message())),
          std::nullopt};
}

StatusOr<Counters> CountersFile::Judge(Sight sight) {
  judged_ = std::move(sight);
  PODGPU_RETURN_IF_ERROR(judged_.status);
  const std::optional<std::string> copied =
      judged_.content ? PathOfCopied(*judged_.content) : std::nullopt;
  if (judged_.content && !copied) {
    return ParseCounters(*judged_.content, path_);
  }
  std::optional<BuiltInList> list = BuiltInListFor(copied.value_or(path_), release_);
  PODGPU_CHECK(list.has_value());  // Look() says so.
  const bool is_replaced = copied && list->csv != *judged_.content;
  if (copied && !is_replaced) {
    list->path = path_;
  }
  PODGPU_ASSIGN_OR_RETURN(Counters counters, ParseCounters(list->csv, list->path));
  if (is_replaced) {
    counters.warnings.push_back(absl::StrFormat(
        "%s is a copy of the default list of an older dcgm-exporter; %s takes its place, as "
        "--dcgm-exporter-version says. To serve a list of your own, change the file",
        path_, release_.renamed_list));
  }
  for (Counter& counter : counters.counters) {
    if (counter.name == kNvlinkBandwidth) {
      counter.type = release_.nvlink_bandwidth_type;
    }
  }
  return counters;
}

}  // namespace podgpu
