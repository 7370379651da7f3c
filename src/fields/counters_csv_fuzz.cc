// Invariants of the counters file parser for any bytes: an error is one line that names the file;
// an accepted list has known, unique, printable names, and is the same after it is written and
// parsed again.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>

#include "base/text.h"
#include "fields/counters_csv.h"

namespace podgpu {
namespace {

std::string CsvQuoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    quoted.append(c == '"' ? 2 : 1, c);
  }
  return quoted + "\"";
}

std::string Written(const Counters& counters) {
  std::string csv;
  for (const Counter& counter : counters.counters) {
    csv += CsvQuoted(counter.name) + "," + CsvQuoted(counter.type) + "," + CsvQuoted(counter.help) +
           "\n";
  }
  return csv;
}

bool SameButLines(const Counters& a, const Counters& b) {
  PODGPU_CHECK(a.counters.size() == b.counters.size());
  for (size_t i = 0; i < a.counters.size(); ++i) {
    const Counter& x = a.counters[i];
    const Counter& y = b.counters[i];
    if (x.name != y.name || x.field != y.field || x.type != y.type || x.help != y.help) {
      return false;
    }
  }
  return true;
}

void CheckAccepted(const Counters& counters) {
  std::set<std::pair<std::string, bool>> seen;
  int line = 0;
  for (const Counter& counter : counters.counters) {
    PODGPU_CHECK(counter.line > line);
    line = counter.line;
    PODGPU_CHECK(counter.field == FindFieldByName(counter.name));
    PODGPU_CHECK(counter.field != nullptr || counter.name.starts_with("DCGM_EXP_"));
    PODGPU_CHECK(seen.emplace(counter.name, counter.is_label()).second);
    PODGPU_CHECK(CleanUtf8(counter.help) == counter.help);
  }
  for (const std::string& warning : counters.warnings) {
    PODGPU_CHECK(warning.starts_with("counters.csv:") || warning.starts_with("again:"));
    PODGPU_CHECK(warning.find('\n') == std::string::npos && CleanUtf8(warning) == warning);
  }
  const std::string csv = Written(counters);
  if (csv.find("\r\n") == std::string::npos) {  // A reader would turn it into "\n".
    const StatusOr<Counters> again = ParseCounters(csv, "again");
    PODGPU_CHECK(again.ok());
    PODGPU_CHECK(SameButLines(counters, *again));
  }
}

// The message is "counters.csv:LINE: problem. Remedy", one line of valid text, and LINE is a line
// of the file.
void CheckRefused(const Status& status, std::string_view content) {
  const std::string message(status.message());
  PODGPU_CHECK(status.code() == absl::StatusCode::kInvalidArgument);
  PODGPU_CHECK(CleanUtf8(message) == message && message.size() < 600);
  PODGPU_CHECK(std::ranges::none_of(message, [](char c) { return c >= 0 && c < ' '; }));
  constexpr std::string_view kFile = "counters.csv:";
  PODGPU_CHECK(message.starts_with(kFile));
  const size_t colon = message.find(':', kFile.size());
  const std::optional<uint64_t> line =
      ParseDecimal(std::string_view(message).substr(kFile.size(), colon - kFile.size()));
  const auto lines = static_cast<uint64_t>(std::ranges::count(content, '\n')) + 1;
  PODGPU_CHECK(line && *line >= 1 && *line <= lines);
  PODGPU_CHECK(message.find(". ", colon) != std::string::npos);
}

}  // namespace
}  // namespace podgpu

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view content(reinterpret_cast<const char*>(data), size);
  const auto parsed = podgpu::ParseCounters(content, "counters.csv");
  if (parsed.ok()) {
    podgpu::CheckAccepted(*parsed);
    return 0;
  }
  podgpu::CheckRefused(parsed.status(), content);
  return 0;
}
