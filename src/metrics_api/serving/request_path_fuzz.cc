// Fuzzes the reader of paths and queries. Invariants: a path of a metric has all its names, clean
// and bounded; no path outside /apis, /openapi and the three probes is found.
#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "base/text.h"
#include "metrics_api/serving/request_path.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using Kind = podgpu::MetricsPath::Kind;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t question = text.find('?');
  podgpu::ReadMetricsQuery(question == std::string_view::npos ? text : text.substr(question + 1));
  const podgpu::MetricsPath path = podgpu::ReadMetricsPath(text.substr(0, question));
  if (path.kind == Kind::kExternal || path.kind == Kind::kPods) {
    for (const std::string& name : {path.name_space, path.metric}) {
      PODGPU_CHECK(!name.empty() && name.size() <= 253 && podgpu::CleanUtf8(name) == name);
      PODGPU_CHECK(name.find('/') == std::string::npos);
    }
    PODGPU_CHECK(path.kind == Kind::kExternal || !path.object.empty());
    PODGPU_CHECK((path.kind == Kind::kExternal) ==
                 (path.version == podgpu::MetricsVersion::kExternalV1beta1));
  }
  return 0;
}
