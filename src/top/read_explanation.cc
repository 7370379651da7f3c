#include "top/read_explanation.h"

#include <limits>

#include "absl/strings/str_format.h"
#include <boost/json.hpp>

#include "base/text.h"

namespace podgpu {
namespace {

constexpr size_t kMostListed = 1'024;
constexpr size_t kMostTextBytes = 4'096;
constexpr size_t kMostNested = 8;

// Names and states of steps are views of constants (ui/explanation.h); an unknown word is "other".
std::string_view WordOfStep(std::string_view word) {
  constexpr std::string_view kWords[] = {
      "device",  "allocation", "match",        "processes",  "labels", "values",    "ok",
      "lost",    "degraded",   "unresponsive", "recovering", "absent", "withdrawn", "starting",
      "waiting", "off",        "free",         "unmatched",  "shared"};
  for (const std::string_view known : kWords) {
    if (known == word) {
      return known;
    }
  }
  return "other";
}

// Reads an explanation and remembers the first mistake.
class ExplanationReader {
 public:
  StatusOr<Explanation> Read(const boost::json::value& root) {
    Explanation explanation;
    for (const boost::json::value& device : List(root, "devices")) {
      explanation.devices.push_back(ReadDevice(device));
    }
    for (const boost::json::value& note : List(root, "notes")) {
      explanation.notes.push_back(TextOf(&note, "notes"));
    }
    PODGPU_RETURN_IF_ERROR(failure_);
    return explanation;
  }

 private:
  ExplainedDevice ReadDevice(const boost::json::value& value) {
    ExplainedDevice device;
    device.gpu_id = NumberAt(value, "gpu");
    if (value.is_object() && value.get_object().contains("gpu_instance_id")) {
      device.gpu_instance_id = NumberAt(value, "gpu_instance_id");
      device.profile = TextAt(value, "profile");
    }
    device.uuid = TextAt(value, "uuid");
    device.model = TextAt(value, "model");
    device.pci_bus_id = TextAt(value, "pci_bus_id");
    device.remedy = TextAt(value, "remedy");
    if (At(value, "condition") != nullptr) {
      device.condition = TextAt(value, "condition");
    }
    for (const boost::json::value& step : List(value, "steps")) {
      device.steps.push_back({WordOfStep(TextAt(step, "step")), WordOfStep(TextAt(step, "state")),
                              TextAt(step, "detail")});
    }
    return device;
  }

  void Fail(std::string_view key, std::string_view what) {
    if (failure_.ok()) {
      failure_ = absl::InvalidArgumentError(absl::StrFormat("\"%s\" is %s", key, what));
    }
  }

  static const boost::json::value* At(const boost::json::value& value, std::string_view key) {
    const boost::json::object* const object = value.if_object();
    return object == nullptr ? nullptr : object->if_contains({key.data(), key.size()});
  }

  const boost::json::array& List(const boost::json::value& value, std::string_view key) {
    const boost::json::value* const member = At(value, key);
    const boost::json::array* const list = member == nullptr ? nullptr : member->if_array();
    if (list == nullptr || list->size() > kMostListed) {
      Fail(key, "not a list of at most 1024 members");
      return empty_;
    }
    return *list;
  }

  std::string TextOf(const boost::json::value* value, std::string_view key) {
    const boost::json::string* const text = value == nullptr ? nullptr : value->if_string();
    if (text == nullptr || text->size() > kMostTextBytes) {
      Fail(key, "not a text of at most 4096 bytes");
      return {};
    }
    return {text->data(), text->size()};
  }
  std::string TextAt(const boost::json::value& value, std::string_view key) {
    return TextOf(At(value, key), key);
  }

  uint32_t NumberAt(const boost::json::value& value, std::string_view key) {
    const boost::json::value* const member = At(value, key);
    const int64_t* const number = member == nullptr ? nullptr : member->if_int64();
    if (number == nullptr || *number < 0 || *number > std::numeric_limits<uint32_t>::max()) {
      Fail(key, "not a whole number from 0");
      return 0;
    }
    return static_cast<uint32_t>(*number);
  }

  Status failure_;
  const boost::json::array empty_;
};

}  // namespace

StatusOr<Explanation> ReadExplanation(std::string_view json) {
  boost::json::parse_options options;
  options.max_depth = kMostNested;
  boost::system::error_code error;
  const boost::json::value root =
      boost::json::parse({json.data(), json.size()}, error, {}, options);
  if (error || !root.is_object()) {
    return absl::InvalidArgumentError("the answer is not a JSON object");
  }
  return ExplanationReader().Read(root);
}

}  // namespace podgpu
