#include <algorithm>

#include "base/status.h"
#include "fields/counters_csv.h"

namespace podgpu {
namespace {

constexpr std::string_view kFolderOfLists = "/etc/dcgm-exporter/";
static_assert(kDefaultCountersPath.starts_with(kFolderOfLists));
constexpr std::string_view kDefaultList = kDefaultCountersPath.substr(kFolderOfLists.size());
constexpr std::string_view kListOfGpuOperator = "dcp-metrics-included.csv";

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
  std::string_view name = path.substr(kFolderOfLists.size());
  if (!release.renamed_list.empty() && (name == kDefaultList || name == kListOfGpuOperator)) {
    name = release.renamed_list;
  }
  const EmbeddedFile* list = ListNamed(name);
  if (list == nullptr) {
    return std::nullopt;
  }
  return BuiltInList{BuiltInPath(name), list->bytes};
}

bool IsDefaultList(std::string_view path) {
  const auto names_one = [path](const EmbeddedFile& list) {
    return list.name.starts_with("default-counters") &&
           (path == std::string(kFolderOfLists) + std::string(list.name) ||
            path == BuiltInPath(list.name));
  };
  return std::ranges::any_of(CounterLists(), names_one);
}

std::optional<std::string> PathOfCopied(std::string_view content) {
  const auto lists = CounterLists();
  const auto found = std::ranges::find(lists, content, &EmbeddedFile::bytes);
  return found == lists.end()
             ? std::nullopt
             : std::optional(std::string(kFolderOfLists) + std::string(found->name));
}

}  // namespace podgpu
