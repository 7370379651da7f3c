// Fuzzes the parser of answers of Prometheus.  Invariants: accepted answers have clean texts and
// finite numbers; an error is one clean line.
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/text.h"
#include "cluster/prometheus_answer.h"

namespace {

void CheckAnswerIsClean(const std::string& text) { PODGPU_CHECK(podgpu::CleanUtf8(text) == text); }

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string complaint = podgpu::PrometheusComplaint(bytes);
  CheckAnswerIsClean(complaint);
  PODGPU_CHECK(complaint.find('\n') == std::string::npos);
  const auto answer = podgpu::ReadPrometheusAnswer(bytes);
  if (!answer.ok()) {
    const std::string line(answer.status().message());
    PODGPU_CHECK(!line.empty() && line.find('\n') == std::string::npos);
    CheckAnswerIsClean(line);
    return 0;
  }
  for (const podgpu::AnsweredSeries& series : *answer) {
    for (const std::string& text : {series.gpu, series.instance, series.pod.name,
                                    series.pod.pod_namespace, series.exported_pod.name}) {
      CheckAnswerIsClean(text);
    }
    PODGPU_CHECK(!series.value || std::isfinite(*series.value));
  }
  return 0;
}
