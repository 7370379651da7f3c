// How nodes are asked where they want TLS or a password: --node-web-config.
//
// A YAML file in the words of Prometheus' scrape configurations (tls_config, authorization,
// basic_auth).  Strict: a key that is not known, a key twice or a value that is not allowed refuses
// the whole file, with one line that names file, line, key and remedy.  Secrets are never quoted.
// Whatever the file names is read with it, relative to its own folder.  Pure but for reading; any
// thread.
#pragma once

#include <optional>
#include <string>

#include "base/files.h"
#include "base/status.h"
#include "http/client.h"

namespace podgpu {

struct NodeWebAccess {
  std::optional<HttpClientTls> tls;  // Nothing: plain HTTP.
  std::string server_name;           // Whom certificates must name; empty: the node's own host.
  std::string authorization;         // The header's value; empty: none.
  bool insecure_http = false;        // The former may be sent without TLS.
  bool operator==(const NodeWebAccess&) const = default;
};

// Reads the file at `path` and all that it names.  kInvalidArgument with the complete line.
StatusOr<NodeWebAccess> ReadNodeWebConfig(const std::string& path, const Files& files);

// kInvalidArgument where a token or password would be sent without TLS and the file at `path` does
// not say that it may.
Status CheckSecrecy(const NodeWebAccess& access, const std::string& path);

}  // namespace podgpu
