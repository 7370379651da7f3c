// Reads dcgm-exporter's YAML configuration (--config-file), versions 1 and 2.
//
// Most keys are other spellings of flags, so the result has the values of their environment
// variables: variables that are really set, and flags, win over them.  Every key is known and
// checked; unknown and repeated keys, a second document and an empty file are refused, as there.
// Keys about samples that DCGM keeps are accepted and named, because podgpu keeps what it counts.
// Facts: yaml_config.go of dcgm-exporter 4.8.3 and 4.8.4.  Pure; any thread.
#pragma once

#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace podgpu {

// Fields with an interval of their own.
struct FieldCollection {
  int line = 0;  // Of its name.
  std::string name;
  std::chrono::milliseconds interval{0};
  std::vector<std::string> patterns;  // Names of fields, with * and ?, as the list writes them.
};

struct ConfigFile {
  std::map<std::string, std::string> variables;  // Values by the variable of their flag.
  // metrics.fields as a list of counters; empty: there are none.  Each line has the number of the
  // line that it comes from, so a message about the list names the place in the YAML file.
  std::string counters;
  std::vector<FieldCollection> collections;
  std::vector<std::string> idle;  // One line for each key that has no effect here.
};

// Parses `text`; messages name `path`.  On failure kInvalidArgument with one line: file, line, key
// and remedy.
StatusOr<ConfigFile> ParseConfigFile(std::string_view text, const std::string& path);

}  // namespace podgpu
