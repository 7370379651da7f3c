// Invariants of the YAML configuration for any bytes: an error is one line that names the file and
// a line of it; an accepted file has settings that name their place, metrics with lines of the
// file, and collections within their limits, whose patterns can be matched.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>

#include "base/text.h"
#include "cli/config_file.h"

namespace podgpu {
namespace {

int LinesIn(std::string_view content) {
  return static_cast<int>(std::ranges::count(content, '\n')) + 1;
}

void CheckOneLine(std::string_view message) {
  PODGPU_CHECK(CleanUtf8(message) == message);
  PODGPU_CHECK(std::ranges::none_of(message, [](char c) { return c >= 0 && c < ' '; }));
}

void CheckCollections(const ConfigFile& file) {
  std::set<std::string> names;
  for (const WantedCollection& one : file.collections) {
    PODGPU_CHECK(names.insert(one.name).second && !one.name.empty() && !one.patterns.empty());
    PODGPU_CHECK(one.interval >= std::chrono::milliseconds(100) &&
                 one.interval <= std::chrono::hours(24));
    PODGPU_CHECK(std::ranges::count(one.patterns, "") == 0);
  }
  const StatusOr<FieldCollections> matched =
      MatchCollections(file.collections, file.counters, file.path);
  if (!matched.ok()) {
    CheckOneLine(std::string(matched.status().message()));
    return;
  }
  std::set<uint16_t> fields;
  for (const FieldCollection& one : *matched) {
    PODGPU_CHECK(!one.fields.empty());
    for (const uint16_t field : one.fields) {
      PODGPU_CHECK(fields.insert(field).second);
    }
  }
}

void CheckAccepted(const ConfigFile& file, std::string_view content) {
  const int lines = LinesIn(content);
  for (const auto& [variable, setting] : file.settings) {
    PODGPU_CHECK(variable.starts_with("DCGM_EXPORTER_"));
    PODGPU_CHECK(setting.line >= 1 && setting.line <= lines && !setting.key.empty());
  }
  std::set<std::string> names;
  for (const Counter& counter : file.counters.counters) {
    PODGPU_CHECK(counter.line >= 1 && counter.line <= lines);
    PODGPU_CHECK(names.insert(counter.name).second);
  }
  std::ranges::for_each(file.idle, CheckOneLine);
  CheckCollections(file);
}

}  // namespace
}  // namespace podgpu

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view content(reinterpret_cast<const char*>(data), size);
  const auto parsed = podgpu::ParseConfigFile(content, "c.yaml");
  if (parsed.ok()) {
    podgpu::CheckAccepted(*parsed, content);
    return 0;
  }
  const std::string message(parsed.status().message());
  PODGPU_CHECK(message.starts_with("c.yaml:"));
  podgpu::CheckOneLine(message);
  return 0;
}
