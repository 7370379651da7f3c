#include <algorithm>

#include "base/status.h"
#include "fields/counters_csv.h"

namespace podgpu {
namespace {

constexpr std::string_view kFolderOfLists = "/etc/dcgm-exporter/";
static_assert(kDefaultCountersPath.starts_with(kFolderOfLists));

const EmbeddedFile* ListNamed(std::string_view name) {
  const auto lists = CounterLists();
  const auto found = std::ranges::find(lists, name, &EmbeddedFile::name);
  return found == lists.end() ? nullptr : &*found;
}

}  // namespace

std::string_view DefaultCountersCsv() {
  const EmbeddedFile* list = ListNamed(kDefaultCountersPath.substr(kFolderOfLists.size()));
  PODGPU_CHECK(list != nullptr);
  return list->bytes;
}

std::optional<BuiltInList> BuiltInListFor(std::string_view path) {
  if (path == kDefaultCountersPath) {
    return BuiltInList{std::string(kBuiltInCounters), DefaultCountersCsv()};
  }
  if (!path.starts_with(kFolderOfLists)) {
    return std::nullopt;
  }
  const EmbeddedFile* list = ListNamed(path.substr(kFolderOfLists.size()));
  if (list == nullptr) {
    return std::nullopt;
  }
  return BuiltInList{std::string(kBuiltInCounters) + " (" + std::string(list->name) + ")",
                     list->bytes};
}

}  // namespace podgpu
