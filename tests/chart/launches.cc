#include "tests/chart/launches.h"

#include <algorithm>
#include <fstream>
#include <iterator>

#include <boost/json.hpp>
#include <gtest/gtest.h>

namespace podgpu {
namespace {

namespace json = boost::json;

std::string TextAt(const json::object& object, std::string_view key) {
  return std::string(object.at({key.data(), key.size()}).as_string());
}

std::vector<std::string> TextsAt(const json::object& object, std::string_view key) {
  std::vector<std::string> texts;
  for (const json::value& text : object.at({key.data(), key.size()}).as_array()) {
    texts.emplace_back(text.as_string());
  }
  return texts;
}

Launch LaunchOf(const json::object& object) {
  Launch launch;
  launch.file = TextAt(object, "file");
  launch.object = TextAt(object, "object");
  launch.name_space = TextAt(object, "namespace");
  launch.container = TextAt(object, "container");
  launch.is_init = object.at("is_init").as_bool();
  launch.role = TextAt(object, "role");
  launch.arguments = TextsAt(object, "arguments");
  launch.variables = TextsAt(object, "variables");
  launch.has_token = object.at("has_token").as_bool();
  for (const json::value& probe : object.at("probes").as_array()) {
    launch.probes.push_back(TextAt(probe.as_object(), "path"));
  }
  for (const json::value& value : object.at("grants").as_array()) {
    const json::object& grant = value.as_object();
    launch.grants.push_back({TextAt(grant, "namespace"), TextAt(grant, "group"),
                             TextAt(grant, "resource"), TextAt(grant, "verb"),
                             TextsAt(grant, "names")});
  }
  return launch;
}

}  // namespace

bool Launch::Says(std::string_view begin) const {
  const auto begins = [begin](const std::string& one) { return one.starts_with(begin); };
  return std::ranges::any_of(arguments, begins) || std::ranges::any_of(variables, begins);
}

std::vector<Launch> ReadLaunches(const std::string& path) {
  std::ifstream file(path);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  boost::system::error_code error;
  const json::value parsed = json::parse(text, error);
  std::vector<Launch> launches;
  EXPECT_TRUE(!error && parsed.is_array()) << path;
  if (!error && parsed.is_array()) {
    for (const json::value& one : parsed.get_array()) {
      launches.push_back(LaunchOf(one.as_object()));
    }
  }
  return launches;
}

}  // namespace podgpu
