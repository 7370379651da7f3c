// Files of /proc/PID: any bytes. Invariants: returned parts are parts of the text; the start time
// is read correctly after any name; a name for a label is short and clean, and cleaning it again
// does not change it.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"
#include "base/text.h"
#include "process/proc_stat.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto stat = podgpu::ParseProcStat(text)) {
    PODGPU_CHECK(stat->name.data() > text.data());
    PODGPU_CHECK(stat->name.data() + stat->name.size() < text.data() + text.size());
  }
  const std::string named =
      "1 (" + std::string(text) + ") S 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 4711 0\n";
  const auto stat = podgpu::ParseProcStat(named);
  PODGPU_CHECK(stat && stat->start_ticks == 4711 && stat->name == text);
  podgpu::ParseInnerPid(text);
  podgpu::ParseBootSeconds(text);
  podgpu::ParseLastPid(text);
  for (const std::string& name : {podgpu::ProcessName(text, ""), podgpu::ProcessName("", text)}) {
    PODGPU_CHECK(name.size() <= 64 && podgpu::CleanUtf8(name) == name);
    PODGPU_CHECK(name.find_first_of("\n\r\t") == std::string::npos);
    PODGPU_CHECK(podgpu::Trim(name).empty() || podgpu::ProcessName(name, "") == name);
  }
  return 0;
}
