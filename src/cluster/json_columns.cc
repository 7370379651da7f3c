#include "cluster/json_columns.h"

#include "absl/strings/str_format.h"
#include <boost/json.hpp>

namespace podgpu {

std::string JsonText(std::string_view text) {
  return boost::json::serialize(boost::json::string_view(text.data(), text.size()));
}

void JsonObject::Add(std::string_view key, std::string_view json) {
  absl::StrAppendFormat(&text_, "%s\"%s\":%s", text_.empty() ? "{" : ",\n", key, json);
}

}  // namespace podgpu
