// Invariants of the counters file's reader on any bytes: an error is one line that names the file;
// what is accepted resolves, is unique and printable, and survives being written and read again.
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>

#include "base/text.h"
#include "fields/counters_csv.h"

namespace podgpu {
namespace {

std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    quoted.append(c == '"' ? 2 : 1, c);
  }
  return quoted + "\"";
}

std::string Written(const Counters& counters) {
  std::string csv;
  for (const Counter& counter : counters.counters) {
    csv += Quoted(counter.name) + "," + Quoted(counter.type) + "," + Quoted(counter.help) + "\n";
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
  const std::string csv = Written(counters);
  if (csv.find("\r\n") == std::string::npos) {  // Would be read as "\n".
    const StatusOr<Counters> again = ParseCounters(csv, "again");
    PODGPU_CHECK(again.ok());
    PODGPU_CHECK(SameButLines(counters, *again));
  }
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
  PODGPU_CHECK(parsed.status().code() == absl::StatusCode::kInvalidArgument);
  PODGPU_CHECK(parsed.status().message().substr(0, 13) == "counters.csv:");
  PODGPU_CHECK(parsed.status().message().find('\n') == absl::string_view::npos);
  PODGPU_CHECK(parsed.status().message().size() < 600);
  return 0;
}
