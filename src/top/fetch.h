// One request of `podgpu top`: resolve, connect, read, decompress, and a sentence if that failed.
//
// It blocks for at most the given time and the time of a name server, so it runs on a thread of its
// own.  A server that is not podgpu's is named, because a wrong port is the usual mistake.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/files.h"
#include "base/status.h"
#include "cluster/node_web_config.h"
#include "http/client.h"
#include "top/address.h"

namespace podgpu {

// The address of a server, and the way to connect to it.  Immutable.
struct TopServer {
  TopAddress address;
  NodeWebAccess access;
  bool is_fleet = false;  // The cluster role is expected, not a node.
  std::chrono::milliseconds patience{5'000};
};

// The path that explains one GPU, up to its number.
inline constexpr std::string_view kTopExplainPath = "/api/v1/explain?gpu=";

// Returns the answer to GET `path`, decompressed: a JSON object with status 200, or 304.  Otherwise
// a status whose message is the failure in words: "connection refused", "it asks for a password
// (401)".  A 404 costs one more request, for `/`, which tells the program; of an explanation it
// means that the node has no such GPU.
StatusOr<HttpAnswer> FetchFrom(const TopServer& server, const std::string& path,
                               const std::string& etag, Clock& clock);

// Returns whether something answered, though not what was asked for.
bool HasAnswered(const Status& failure);

// Reads the credentials: the file `web_config` in the format of node_web_config.h, and the
// authorities in `ca_file`; both may be empty.  kInvalidArgument with the complete message.
StatusOr<NodeWebAccess> ReadTopAccess(const std::string& web_config, const std::string& ca_file,
                                      const TopAddress& address, const Files& files);

// Names the program behind a page of HTML: "podgpu", "podgpu cluster", "dcgm-exporter", or its
// title in quotation marks.
std::string ProgramOf(std::string_view page);

}  // namespace podgpu
