#include "doctor/json_form.h"

#include <cmath>
#include <string_view>

#include <boost/json.hpp>

#include "base/text.h"

namespace podgpu {
namespace {

namespace json = boost::json;

// Values of one key become a list.
json::object EvidenceOf(const Finding& finding) {
  json::object object;
  for (const auto& [key, value] : finding.evidence) {
    json::value& values = object[key];
    if (!values.is_array()) {
      values.emplace_array();
    }
    values.get_array().emplace_back(CleanUtf8(value));
  }
  return object;
}

json::value TextOrNull(std::string_view text) {
  return text.empty() ? json::value(nullptr) : json::value(CleanUtf8(text));
}

json::object CheckOf(const CheckResult& check) {
  const Finding& finding = check.finding;
  constexpr double kTenths = 10;
  return {{"id", check.id},
          {"section", check.section},
          {"status", SeverityName(finding.severity)},
          {"fact", TextOrNull(finding.fact)},
          {"lose", json::array(finding.lose.begin(), finding.lose.end())},
          {"do", TextOrNull(finding.remedy)},
          {"caused_by", TextOrNull(finding.caused_by)},
          {"evidence", EvidenceOf(finding)},
          {"ms", std::round(check.ms * kTenths) / kTenths}};
}

}  // namespace

std::string AsJson(const DoctorResult& result) {
  constexpr double kHundredths = 100;
  json::object object = {{"schema", kDoctorSchema},
                         {"podgpu", result.version},
                         {"host", result.host},
                         {"exit_code", result.exit_code()},
                         {"seconds", std::round(result.seconds * kHundredths) / kHundredths}};
  json::array& checks = object["checks"].emplace_array();
  for (const CheckResult& check : result.checks) {
    checks.push_back(CheckOf(check));
  }
  json::array& gives = object["gives"].emplace_array();
  for (const Gift& gift : result.gives) {
    gives.push_back(json::object{{"feature", gift.feature},
                                 {"available", gift.available},
                                 {"because", TextOrNull(gift.because)}});
  }
  return json::serialize(object) + "\n";
}

}  // namespace podgpu
