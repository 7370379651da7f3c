#include <algorithm>

#include "absl/strings/str_cat.h"

#include "base/log.h"
#include "base/status.h"
#include "fields/counters_csv.h"

namespace podgpu {
namespace {

constexpr std::string_view kFolderOfLists = "/etc/dcgm-exporter/";
static_assert(kDefaultCountersPath.starts_with(kFolderOfLists));
constexpr std::string_view kDefaultList = kDefaultCountersPath.substr(kFolderOfLists.size());
constexpr std::string_view kListOfGpuOperator = "dcp-metrics-included.csv";
constexpr std::string_view kNvlinkBandwidth = "DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL";

const EmbeddedFile* ListNamed(std::string_view name) {
  const auto lists = CounterLists();
  const auto found = std::ranges::find(lists, name, &EmbeddedFile::name);
  return found == lists.end() ? nullptr : &*found;
}

std::string BuiltInPath(std::string_view name) {
  return std::string(kBuiltInCounters) +
         (name == kDefaultList ? std::string() : " (" + std::string(name) + ")");
}

}  // namespace

std::string_view DefaultCountersCsv() {
  const EmbeddedFile* list = ListNamed(kDefaultList);
  PODGPU_CHECK(list != nullptr);
  return list->bytes;
}

std::optional<BuiltInList> BuiltInListFor(std::string_view path, const ListsOfRelease& release) {
  if (!path.starts_with(kFolderOfLists)) {
    return std::nullopt;
  }
  const std::string_view name = path.substr(kFolderOfLists.size());
  const bool is_replaced =
      !release.renamed_list.empty() && (name == kDefaultList || name == kListOfGpuOperator);
  const EmbeddedFile* list = ListNamed(is_replaced ? release.renamed_list : name);
  if (list == nullptr) {
    return std::nullopt;
  }
  const bool is_of_operator = is_replaced && name == kListOfGpuOperator;
  return BuiltInList{is_of_operator ? BuiltInPath(absl::StrCat(std::string(list->name),
                                                               " in place of ", std::string(name)))
                                    : BuiltInPath(list->name),
                     list->bytes};
}

StatusOr<Counters> ParseBuiltIn(const BuiltInList& list, const ListsOfRelease& release) {
  PODGPU_ASSIGN_OR_RETURN(Counters counters, ParseCounters(list.csv, list.path));
  for (Counter& counter : counters.counters) {
    if (counter.name == kNvlinkBandwidth) {
      counter.type = release.nvlink_bandwidth_type;
    }
  }
  return counters;
}

bool IsDefaultList(std::string_view path) {
  const auto names_one = [path](const EmbeddedFile& list) {
    return list.name.starts_with("default-counters") &&
           (path == std::string(kFolderOfLists) + std::string(list.name) ||
            path == BuiltInPath(list.name));
  };
  return std::ranges::any_of(CounterLists(), names_one);
}

StatusOr<Counters> ParseList(std::string_view content, std::string_view path,
                             const ListsOfRelease& release) {
  const auto lists = CounterLists();
  const auto copied = std::ranges::find(lists, content, &EmbeddedFile::bytes);
  if (copied == lists.end()) {
    return ParseCounters(content, path);
  }
  std::optional<BuiltInList> list =
      BuiltInListFor(std::string(kFolderOfLists) + std::string(copied->name), release);
  PODGPU_CHECK(list.has_value());  // Each of these lists has such a path.
  if (list->csv == content) {
    list->path = std::string(path);
  } else {
    Log(LogLevel::kInfo,
        "the list of --dcgm-exporter-version takes the place of this copy of an older one",
        {{"copy", std::string(path)}, {"list", list->path}});
  }
  return ParseBuiltIn(*list, release);
}

}  // namespace podgpu
