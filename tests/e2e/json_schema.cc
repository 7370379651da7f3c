#include "tests/e2e/json_schema.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <boost/json.hpp>

namespace podgpu {
namespace {

namespace json = boost::json;
using Complaints = std::vector<std::string>;

Complaints ComplaintsOf(const json::value& value, const json::object& schema,
                        const std::string& place);

bool IsOfType(const json::value& value, std::string_view type) {
  return (type == "object" && value.is_object()) || (type == "array" && value.is_array()) ||
         (type == "string" && value.is_string()) || (type == "null" && value.is_null()) ||
         (type == "boolean" && value.is_bool()) || (type == "number" && value.is_number());
}

bool HasType(const json::value& value, const json::value& types) {
  if (types.is_string()) {
    return IsOfType(value, types.get_string());
  }
  return std::ranges::any_of(types.as_array(), [&value](const json::value& type) {
    return IsOfType(value, type.as_string());
  });
}

void Add(Complaints& complaints, const Complaints& more) {
  complaints.insert(complaints.end(), more.begin(), more.end());
}

Complaints OfMembers(const json::object& object, const json::object& schema,
                     const std::string& place) {
  Complaints complaints;
  const json::value* const properties = schema.if_contains("properties");
  const json::value* const others = schema.if_contains("additionalProperties");
  for (const json::key_value_pair& member : object) {
    const std::string name = place + "." + std::string(member.key());
    const json::value* const known =
        properties == nullptr ? nullptr : properties->as_object().if_contains(member.key());
    if (known != nullptr) {
      Add(complaints, ComplaintsOf(member.value(), known->as_object(), name));
    } else if (others != nullptr && others->is_object()) {
      Add(complaints, ComplaintsOf(member.value(), others->get_object(), name));
    } else if (others != nullptr && !others->as_bool()) {
      complaints.push_back(name + " is not allowed");
    }
  }
  if (const json::value* const required = schema.if_contains("required")) {
    for (const json::value& key : required->as_array()) {
      if (!object.contains(key.as_string())) {
        complaints.push_back(place + " lacks " + std::string(key.as_string()));
      }
    }
  }
  return complaints;
}

Complaints ComplaintsOf(const json::value& value, const json::object& schema,
                        const std::string& place) {
  constexpr std::array<std::string_view, 9> kKnown = {
      "$schema", "title", "type", "const", "enum", "required", "properties", "additionalProperties",
      "items"};
  Complaints complaints;
  for (const json::key_value_pair& keyword : schema) {
    if (std::ranges::count(kKnown, std::string_view(keyword.key())) == 0) {
      complaints.push_back(place + ": unknown keyword " + std::string(keyword.key()));
    }
  }
  if (const json::value* const type = schema.if_contains("type"); type && !HasType(value, *type)) {
    complaints.push_back(place + " has another type");
  }
  if (const json::value* const only = schema.if_contains("const"); only && *only != value) {
    complaints.push_back(place + " has another value");
  }
  if (const json::value* const all = schema.if_contains("enum")) {
    if (std::ranges::count(all->as_array(), value) == 0) {
      complaints.push_back(place + " is none of the allowed values");
    }
  }
  if (value.is_object()) {
    Add(complaints, OfMembers(value.get_object(), schema, place));
  }
  const json::value* const items = schema.if_contains("items");
  for (size_t i = 0; items != nullptr && value.is_array() && i < value.get_array().size(); ++i) {
    Add(complaints, ComplaintsOf(value.get_array()[i], items->as_object(),
                                 place + "[" + std::to_string(i) + "]"));
  }
  return complaints;
}

}  // namespace

std::vector<std::string> SchemaComplaints(std::string_view text, std::string_view schema) {
  json::error_code error;
  const json::value value = json::parse(text, error);
  if (error) {
    return {"not JSON: " + error.message()};
  }
  return ComplaintsOf(value, json::parse(schema).as_object(), "$");
}

}  // namespace podgpu
