#include "cluster/prometheus_answer.h"

#include <charconv>
#include <cmath>

#include "absl/strings/str_format.h"
#include <boost/json.hpp>

#include "base/text.h"

namespace podgpu {
namespace {

namespace json = boost::json;

constexpr size_t kMostLabelBytes = 1'024;

Status NoVector(std::string_view what) {
  return absl::InvalidArgumentError(absl::StrFormat(
      "the answer is not a vector of values: %s. Check that the address is a Prometheus server",
      what));
}

std::string_view TextAt(const json::object& object, std::string_view key) {
  const json::value* const value = object.if_contains(key);
  const json::string* const text = value == nullptr ? nullptr : value->if_string();
  return text == nullptr ? std::string_view() : std::string_view(text->data(), text->size());
}

const json::object* ObjectAt(const json::object& object, std::string_view key) {
  const json::value* const value = object.if_contains(key);
  return value == nullptr ? nullptr : value->if_object();
}

std::optional<double> NumberIn(std::string_view text) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() && std::isfinite(number)
             ? std::optional(number)
             : std::nullopt;
}

// Returns the number of "value": [time, "37.5"]; empty if it is not a number.
std::optional<double> ValueOf(const json::object& sample) {
  const json::value* const pair = sample.if_contains("value");
  const json::array* const parts = pair == nullptr ? nullptr : pair->if_array();
  if (parts == nullptr || parts->size() != 2) {
    return std::nullopt;
  }
  const json::string* const text = parts->back().if_string();
  return text == nullptr ? std::nullopt : NumberIn({text->data(), text->size()});
}

// Returns the UUID, or other labels that identify the GPU within the cluster.
std::string GpuOf(const json::object& labels) {
  for (const std::string_view name : {"UUID", "uuid"}) {
    if (const std::string_view uuid = TextAt(labels, name); !uuid.empty()) {
      return CleanUtf8(uuid);
    }
  }
  return CleanUtf8(absl::StrFormat("%s/%s", TextAt(labels, "instance"), TextAt(labels, "gpu")));
}

StatusOr<AnsweredSeries> ReadSeries(const json::value& value) {
  const json::object* const sample = value.if_object();
  const json::object* const labels = sample == nullptr ? nullptr : ObjectAt(*sample, "metric");
  if (labels == nullptr) {
    return NoVector("a series has no labels");
  }
  for (const auto& label : *labels) {
    const json::string* const text = label.value().if_string();
    if (text == nullptr || text->size() > kMostLabelBytes) {
      return NoVector("a label is not a text of at most 1,024 bytes");
    }
  }
  const auto pod = [labels](std::string_view name, std::string_view pod_namespace) {
    return PodName{CleanUtf8(TextAt(*labels, pod_namespace)), CleanUtf8(TextAt(*labels, name))};
  };
  return AnsweredSeries{GpuOf(*labels), CleanUtf8(TextAt(*labels, "GPU_I_ID")),
                        pod("pod", "namespace"), pod("exported_pod", "exported_namespace"),
                        ValueOf(*sample)};
}

}  // namespace

std::string_view AnsweredLabels() {
  return "UUID, uuid, GPU_I_ID, instance, gpu, namespace, pod, exported_namespace, exported_pod";
}

StatusOr<std::vector<AnsweredSeries>> ReadPrometheusAnswer(std::string_view text) {
  boost::system::error_code error;
  const json::value root = json::parse({text.data(), text.size()}, error);
  const json::object* const object = error ? nullptr : root.if_object();
  if (object == nullptr) {
    return NoVector(error ? error.message() : "no JSON object");
  }
  const json::object* const data = ObjectAt(*object, "data");
  if (TextAt(*object, "status") != "success" || data == nullptr) {
    return NoVector("\"status\" is not \"success\"");
  }
  const json::value* const result = data->if_contains("result");
  const json::array* const samples = result == nullptr ? nullptr : result->if_array();
  if (TextAt(*data, "resultType") != "vector" || samples == nullptr) {
    return NoVector("\"resultType\" is not \"vector\"");
  }
  std::vector<AnsweredSeries> series;
  series.reserve(samples->size());
  for (const json::value& sample : *samples) {
    PODGPU_ASSIGN_OR_RETURN(AnsweredSeries one, ReadSeries(sample));
    series.push_back(std::move(one));
  }
  return series;
}

std::string PrometheusComplaint(std::string_view text) {
  boost::system::error_code error;
  const json::value root = json::parse({text.data(), text.size()}, error);
  const json::object* const object = error ? nullptr : root.if_object();
  const std::string_view said = object == nullptr ? std::string_view() : TextAt(*object, "error");
  return said.empty() ? std::string() : Quoted(said);
}

}  // namespace podgpu
