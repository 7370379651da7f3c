// Finds the nodes of the cluster on its own thread: from a file, by a DNS name, or from the API
// server.
//
// If a later search fails, the found nodes stay and the reason is reported, so a broken file or
// name server removes no node.  Name lookups block, so they happen only on this thread.  The file
// is read at each search, so an edit takes effect within one interval; the API server is watched
// and reports changes.  Run is the body of one thread; the rest may be called from any thread.
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

// The source of the list of nodes: --nodes.
struct NodesOption {
  enum class Kind : uint8_t { kNone, kFile, kDns, kApi };
  Kind kind = Kind::kFile;
  std::string path;  // Path of the file, for kFile.
  HostAndPort dns;
  ApiNodesOption api;
};
// Parses "file:/etc/podgpu/nodes", "dns:podgpu.gpu.svc:9400", "endpoints:gpu/podgpu" or
// "pods:gpu/app=podgpu".
StatusOr<NodesOption> ParseNodesOption(std::string_view text);

// Returns all numeric addresses of a host: the system's getaddrinfo, except in tests.
using Resolver = std::function<StatusOr<std::vector<std::string>>(const std::string& host)>;
StatusOr<std::vector<std::string>> ResolveBySystem(const std::string& host);

// Finds nodes once in a file or by a name; sorted, each id once.  A host of the file whose lookup
// fails is left out and named in `complaints`. kInvalidArgument for mistakes in the file.
StatusOr<FoundNodes> FindNodes(const NodesOption& option, const Files& files,
                               const Resolver& resolve);

// The result of all searches so far.  Immutable once published.
struct NodeList {
  std::vector<NodeAddress> addresses;
  bool is_unwanted = false;  // No search: only Prometheus is queried.
  bool is_found = false;     // At least one search has succeeded.
  bool is_ok = false;        // The last search succeeded without complaints.
  std::string detail;        // One sentence.
  uint64_t failures = 0;
};

class NodeDiscovery {
 public:
  // All borrowed objects must outlive it. `changed` is called after each search that changed
  // something.
  NodeDiscovery(NodesOption option, const Files& files, Resolver resolve, Clock& clock,
                std::function<void()> changed);

  void Run(const std::stop_token& stop);
  // Searches in a file or by a name.
  void SearchOnce();

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
