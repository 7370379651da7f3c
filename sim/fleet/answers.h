// The HTTP answers of a node of a simulated fleet: its report, as podgpu serves it, or garbage.
//
// An honest answer has ETag, 304, gzip and Age as docs/api.md says.  A garbage node sends one of
// several sorts, from bytes that are not HTTP to a well-formed report with wrong facts.  Pure
// functions; any thread.
#pragma once

#include <string>
#include <string_view>

namespace podgpu::sim {

struct FleetQuestion {
  std::string_view path = {};
  std::string_view if_none_match = {};
  std::string_view accept_encoding = {};
  bool closes = false;  // The client asked to close the connection.
};

// The whole answer, head and body; `json` is the report.
std::string AnswerOfNode(const FleetQuestion& question, std::string_view json);

struct FleetGarbage {
  std::string bytes;
  bool is_endless = false;  // The last 64 KiB are repeated without end.
};
// What a garbage `node` answers to any request instead of `json`; the connection ends after it.
FleetGarbage GarbageOfNode(size_t node, std::string_view json);

}  // namespace podgpu::sim
