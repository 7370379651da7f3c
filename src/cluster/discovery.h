// Finds the nodes of the cluster, at its own pace: from a file, by a name in the DNS, or from the
// API server.
//
// What was found stays in force while a later look fails, with the reason beside it, so that a
// broken file or name server takes no node away.  Names are looked up here and nowhere else, since
// that blocks.  A file is looked at each time, so that an edit is in force within a period; the API
// server is listened to, and says what changes.  Run is the body of one thread; the rest may be
// called from any thread.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "base/published.h"
#include "base/wakeup.h"
#include "cluster/api_nodes.h"
#include "cluster/node_address.h"

namespace podgpu {

// Where nodes are to be looked for: --nodes.
struct NodesOption {
  enum class Kind : uint8_t { kNone, kFile, kDns, kApi };
  Kind kind = Kind::kFile;
  std::string path;  // Of a file.
  HostAndPort dns;
  ApiNodesOption api;
};
// "file:/etc/podgpu/nodes", "dns:podgpu.gpu.svc:9400", "endpoints:gpu/podgpu",
// "pods:gpu/app=podgpu".
StatusOr<NodesOption> ParseNodesOption(std::string_view text);

// All addresses of a host, in numbers; the system's getaddrinfo but in tests.
using Resolver = std::function<StatusOr<std::vector<std::string>>(const std::string& host)>;
StatusOr<std::vector<std::string>> ResolveBySystem(const std::string& host);

// Finds nodes once in a file or by a name, sorted, each id once.  A host of a file that cannot be
// looked up is left out and named in `complaints`.  kInvalidArgument for mistakes in the file.
StatusOr<FoundNodes> FindNodes(const NodesOption& option, const Files& files,
                               const Resolver& resolve);

// What is known.  Immutable once published.
struct NodeList {
  std::vector<NodeAddress> addresses;
  bool is_unwanted = false;  // Nobody is looked for: Prometheus alone is asked.
  bool is_found = false;     // Some look has succeeded.
  bool is_ok = false;        // The last one has, without complaints.
  std::string detail;        // A plain sentence.
  uint64_t failures = 0;
};

class NodeDiscovery {
 public:
  // All borrowed things outlive it.  `changed` is called after each look that changed something.
  NodeDiscovery(NodesOption option, const Files& files, Resolver resolve, Clock& clock,
                std::function<void()> changed);

  void Run(const std::stop_token& stop);
  // In a file or by a name.
  void LookOnce();

  const Published<NodeList>& nodes() const { return nodes_; }

 private:
  void FollowApi(const std::stop_token& stop);
  void Take(StatusOr<FoundNodes> found);

  const NodesOption option_;
  const Files& files_;
  const Resolver resolve_;
  Clock& clock_;
  const std::function<void()> changed_;
  NodeList current_;
  Published<NodeList> nodes_;
};

}  // namespace podgpu
