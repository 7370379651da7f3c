#include "cluster/prometheus_range.h"

#include <charconv>
#include <cmath>

#include "absl/strings/str_format.h"
#include <boost/json.hpp>

namespace podgpu {
namespace {

namespace json = boost::json;

Status NoMatrix(std::string_view what) {
  return absl::InvalidArgumentError(absl::StrFormat(
      "the answer is not a range of values: %s. Check that the address is a Prometheus server",
      what));
}

const json::value* MemberOf(const json::value* parent, std::string_view key) {
  const json::object* const object = parent == nullptr ? nullptr : parent->if_object();
  return object == nullptr ? nullptr : object->if_contains(key);
}

bool IsText(const json::value* value, std::string_view text) {
  const json::string* const found = value == nullptr ? nullptr : value->if_string();
  return found != nullptr && std::string_view(found->data(), found->size()) == text;
}

std::optional<double> FiniteIn(const json::value& value) {
  const json::string* const text = value.if_string();
  if (text == nullptr) {
    return std::nullopt;
  }
  double number = 0;
  const char* const last = text->data() + text->size();
  const auto [end, error] = std::from_chars(text->data(), last, number);
  return error == std::errc() && end == last && std::isfinite(number) ? std::optional(number)
                                                                      : std::nullopt;
}

// Returns the place of a time in the range, if it is one of its steps.
std::optional<size_t> PlaceOf(const json::value& time, const TimeRange& range) {
  const double time_s = time.is_int64()    ? static_cast<double>(time.get_int64())
                        : time.is_double() ? time.get_double()
                                           : -1;
  const double place =
      (time_s - static_cast<double>(range.begin_s)) / static_cast<double>(range.step_s);
  return place >= 0 && place < static_cast<double>(range.count) && place == std::floor(place)
             ? std::optional(static_cast<size_t>(place))
             : std::nullopt;
}

}  // namespace

StatusOr<std::vector<std::optional<double>>> ReadPrometheusRange(std::string_view text,
                                                                 const TimeRange& range) {
  boost::system::error_code error;
  const json::value root = json::parse({text.data(), text.size()}, error);
  if (error) {
    return NoMatrix(error.message());
  }
  const json::value* const data = MemberOf(&root, "data");
  if (!IsText(MemberOf(&root, "status"), "success") ||
      !IsText(MemberOf(data, "resultType"), "matrix")) {
    return NoMatrix("\"status\" is not \"success\", or \"resultType\" is not \"matrix\"");
  }
  const json::value* const result = MemberOf(data, "result");
  const json::array* const series = result == nullptr ? nullptr : result->if_array();
  if (series == nullptr || series->size() > 1) {
    return NoMatrix("it has not one series");
  }
  std::vector<std::optional<double>> values(range.count);
  const json::value* const listed =
      series->empty() ? nullptr : MemberOf(&series->front(), "values");
  const json::array* const pairs = listed == nullptr ? nullptr : listed->if_array();
  if (!series->empty() && pairs == nullptr) {
    return NoMatrix("the series has no values");
  }
  for (const json::value& pair : pairs == nullptr ? json::array() : *pairs) {
    const json::array* const parts = pair.if_array();
    if (parts == nullptr || parts->size() != 2) {
      return NoMatrix("a value is not a pair of time and number");
    }
    if (const std::optional<size_t> place = PlaceOf(parts->front(), range)) {
      values[*place] = FiniteIn(parts->back());
    }
  }
  return values;
}

}  // namespace podgpu
