// Reads --node-web-config: TLS and credentials for requests to nodes.
//
// A YAML file with the keys of Prometheus' scrape configurations (tls_config, authorization,
// basic_auth).  Strict: an unknown key, a repeated key or a value that is not allowed refuses the
// whole file, with one line that names file, line, key and remedy.  Secrets are never quoted.
// Files that it names are read at the same time, relative to its folder.  No state; any thread.
#pragma once

#include <optional>
#include <string>

#include "base/files.h"
#include "base/status.h"
#include "http/client.h"

namespace podgpu {

struct NodeWebAccess {
  std::optional<HttpClientTls> tls;  // Empty: plain HTTP.
  std::string server_name;     // The name that certificates must have; empty: the node's own host.
  std::string authorization;   // The header's value; empty: none.
  bool insecure_http = false;  // `authorization` may be sent without TLS.
  bool operator==(const NodeWebAccess&) const = default;
};

// Reads the file at `path` and all files that it names. kInvalidArgument with the complete message.
StatusOr<NodeWebAccess> ReadNodeWebConfig(const std::string& path, const Files& files);

// kInvalidArgument if a token or password would be sent without TLS and the file at `path` does not
// allow it.
Status CheckSecrecy(const NodeWebAccess& access, const std::string& path);

}  // namespace podgpu
