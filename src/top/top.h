// `podgpu top`: a node, or with --fleet the whole fleet, on a terminal, live; or once as plain
// text.
//
// It asks one podgpu over its JSON API, one request a tick, and writes nothing anywhere else.  Runs
// on the calling thread until q or a signal; each request has a thread of its own, so keys are
// never slow.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/files.h"

namespace podgpu {

struct TopOptions {
  std::string url;
  bool is_fleet = false;
  bool once = false;
  bool json = false;
  bool ascii = false;  // Set also without a UTF-8 locale.
  bool colour = true;
  std::chrono::milliseconds interval{1'000};
  std::string web_config, ca_file;
  std::optional<size_t> columns;  // Width for --once; absent: the terminal's, or 120.
};

// The facts about the terminal that main.cc finds out.
struct TopTerminal {
  int input = 0, output = 1;
  bool is_terminal = false;  // Both are a terminal, and it is not dumb.
};

// Returns the exit code: 0, 1 if nothing answered, 2 for wrong use.
int RunTop(const TopOptions& options, const TopTerminal& terminal, Clock& clock,
           const Files& files);

}  // namespace podgpu
