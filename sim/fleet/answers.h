// What a node of a simulated fleet answers over HTTP: its report, as podgpu serves it, or garbage.
//
// An honest answer has ETag, 304, gzip and Age as docs/api.md says.  Garbage is of several sorts,
// one for each node, from bytes that are no HTTP to a report that is well formed and lies.  Pure
// functions; any thread.
#pragma once

#include <string>
#include <string_view>

namespace podgpu::sim {

struct FleetQuestion {
  std::string_view path = {};
  std::string_view if_none_match = {};
  std::string_view accept_encoding = {};
  bool closes = false;  // The connection is not wanted for more.
};

// The whole answer, head and body; `json` is the report.
std::string AnswerOfNode(const FleetQuestion& question, std::string_view json);

struct FleetGarbage {
  std::string bytes;
  bool is_endless = false;  // The last 64 KiB are to be sent again and again.
};
// What `node` answers in place of `json`, to any question; the connection ends after it.
FleetGarbage GarbageOfNode(size_t node, std::string_view json);

}  // namespace podgpu::sim
