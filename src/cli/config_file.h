// Reads dcgm-exporter's YAML configuration (--config-file), versions 1 and 2.
//
// Most keys are other spellings of flags, so the result has the values of their environment
// variables: variables that are really set, and flags, win over them.  Every key is known and
// checked; unknown and repeated keys, a second document and an empty file are refused, as there.
// Keys about samples that DCGM keeps are accepted and named, because podgpu keeps what it counts.
// Facts: yaml_config.go of dcgm-exporter 4.8.3 and 4.8.4.  Pure; any thread.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "fields/counters_csv.h"
#include "fields/match_collections.h"

namespace podgpu {

// The value of a key that is another spelling of a flag.
struct ConfigSetting {
  std::string value;
  int line = 0;
  std::string key;  // "server.maxConcurrentScrapes"
};

struct ConfigFile {
  std::string path;                               // As messages name it.
  std::string text;                               // The whole file.
  std::map<std::string, ConfigSetting> settings;  // By the variable of the flag.
  Counters counters;  // metrics.fields; their lines are those of the YAML file.
  std::vector<WantedCollection> collections;
  std::vector<std::string> idle;  // One line for each key that has no effect here.
};

// Parses `text`; messages name `path`.  On failure kInvalidArgument with one line: file, line, key
// and remedy.
StatusOr<ConfigFile> ParseConfigFile(std::string_view text, const std::string& path);

}  // namespace podgpu
