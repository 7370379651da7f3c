#include "cluster/discovery.h"

#include <algorithm>
#include <arpa/inet.h>
#include <netdb.h>

#include "absl/strings/str_format.h"

#include "base/log.h"
#include "base/text.h"
#include "kube/api_pace.h"

namespace podgpu {
namespace {

constexpr std::chrono::seconds kSearchInterval{10};

struct FreeAddresses {
  void operator()(addrinfo* list) const { ::freeaddrinfo(list); }
};

StatusOr<FoundNodes> FindInFile(const std::string& path, const Files& files,
                                const Resolver& resolve) {
  PODGPU_ASSIGN_OR_RETURN(const std::string text, files.Read(path));
  PODGPU_ASSIGN_OR_RETURN(const std::vector<HostAndPort> hosts, ParseNodeFile(text, path));
  FoundNodes found;
  for (const HostAndPort& host : hosts) {
    const StatusOr<std::vector<std::string>> ips = resolve(host.host);
    if (ips.ok() && !ips->empty()) {
      found.addresses.push_back({ToString(host), ips->front(), host.port, host.host, {}});
    } else {
      found.complaints.push_back(absl::StrFormat(
          "%s: %s", path, ips.ok() ? "no address" : std::string(ips.status().message())));
    }
  }
  return found;
}

StatusOr<FoundNodes> FindByDns(const HostAndPort& name, const Resolver& resolve) {
  PODGPU_ASSIGN_OR_RETURN(const std::vector<std::string> ips, resolve(name.host));
  FoundNodes found;
  for (const std::string& ip : ips) {
    found.addresses.push_back({ToString({ip, name.port}), ip, name.port, name.host, {}});
  }
  return found;
}

// Sorts, and keeps each id once.
StatusOr<FoundNodes> Settled(FoundNodes found) {
  std::ranges::sort(found.addresses);
  const auto repeated = std::ranges::unique(found.addresses, {}, &NodeAddress::id);
  found.addresses.erase(repeated.begin(), repeated.end());
  if (found.addresses.size() > kMostNodes) {
    return absl::ResourceExhaustedError(absl::StrFormat("%d nodes were found; at most %d are asked",
                                                        found.addresses.size(), kMostNodes));
  }
  return found;
}

}  // namespace

StatusOr<NodesOption> ParseNodesOption(std::string_view text) {
  constexpr std::string_view kFile = "file:";
  constexpr std::string_view kDns = "dns:";
  constexpr std::string_view kEndpoints = "endpoints:";
  constexpr std::string_view kPods = "pods:";
  NodesOption option;
  if (text.starts_with(kFile) && text.size() > kFile.size()) {
    option.path = text.substr(kFile.size());
    return option;
  }
  if (text.starts_with(kDns)) {
    option.kind = NodesOption::Kind::kDns;
    PODGPU_ASSIGN_OR_RETURN(option.dns, ParseHostAndPort(text.substr(kDns.size())));
    return option;
  }
  if (text.starts_with(kEndpoints)) {
    option.kind = NodesOption::Kind::kApi;
    PODGPU_ASSIGN_OR_RETURN(option.api, ParseEndpointsOption(text.substr(kEndpoints.size())));
    return option;
  }
  if (text.starts_with(kPods)) {
    option.kind = NodesOption::Kind::kApi;
    PODGPU_ASSIGN_OR_RETURN(option.api, ParsePodsOption(text.substr(kPods.size())));
    return option;
  }
  return absl::InvalidArgumentError(
      "must be file:PATH, dns:NAME:PORT, endpoints:NAMESPACE/SERVICE or pods:NAMESPACE/SELECTOR");
}

StatusOr<std::vector<std::string>> ResolveBySystem(const std::string& host) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  if (const int error = ::getaddrinfo(host.c_str(), nullptr, &hints, &list); error != 0) {
    return absl::UnavailableError(
        absl::StrFormat("%s cannot be looked up: %s", Quoted(host), ::gai_strerror(error)));
  }
  const std::unique_ptr<addrinfo, FreeAddresses> owned(list);
  std::vector<std::string> ips;
  for (const addrinfo* one = list; one != nullptr; one = one->ai_next) {
    char text[NI_MAXHOST] = {};
    if (::getnameinfo(one->ai_addr, one->ai_addrlen, text, sizeof text, nullptr, 0,
                      NI_NUMERICHOST) == 0) {
      ips.emplace_back(text);
    }
  }
  return ips;
}

StatusOr<FoundNodes> FindNodes(const NodesOption& option, const Files& files,
                               const Resolver& resolve) {
  PODGPU_CHECK(option.kind != NodesOption::Kind::kApi);
  PODGPU_ASSIGN_OR_RETURN(FoundNodes found, option.kind == NodesOption::Kind::kFile
                                                ? FindInFile(option.path, files, resolve)
                                                : FindByDns(option.dns, resolve));
  return Settled(std::move(found));
}

NodeDiscovery::NodeDiscovery(NodesOption option, const Files& files, Resolver resolve, Clock& clock,
                             std::function<void()> changed)
    : option_(std::move(option)),
      files_(files),
      resolve_(std::move(resolve)),
      clock_(clock),
      changed_(std::move(changed)) {
  const bool is_unwanted = option_.kind == NodesOption::Kind::kNone;
  current_.is_unwanted = current_.is_found = current_.is_ok = is_unwanted;
  current_.detail = is_unwanted ? "no nodes are asked" : "searching for nodes for the first time";
  nodes_.Set(std::make_shared<const NodeList>(current_));
}

void NodeDiscovery::Run(const std::stop_token& stop) {
  if (current_.is_unwanted) {
    return;
  }
  if (option_.kind == NodesOption::Kind::kApi) {
    FollowApi(stop);
    return;
  }
  do {
    SearchOnce();
  } while (clock_.WaitUntil(clock_.Now() + kSearchInterval, stop));
}

void NodeDiscovery::SearchOnce() { Take(FindNodes(option_, files_, resolve_)); }

// The watch delivers changes; after a failure the mirror lists or watches again.
void NodeDiscovery::FollowApi(const std::stop_token& stop) {
  const ApiNodesOption& api = option_.api;
  ApiMirror mirror(api.server, api.collection, ScopeOf(api), files_);
  ApiPace pace(api.seed);
  while (!stop.stop_requested()) {
    const Instant began = clock_.Now();
    const ApiRound round =
        mirror.Follow(stop, [&] { Take(Settled(NodesIn(api, mirror.objects()))); });
    if (stop.stop_requested()) {
      return;
    }
    if (!round.status.ok()) {
      Take(round.status);
    }
    const Duration wait = pace.After(round, clock_.Now() - began);
    if (wait > Duration::zero() && !clock_.WaitUntil(clock_.Now() + wait, stop)) {
      return;
    }
  }
}

void NodeDiscovery::Take(StatusOr<FoundNodes> found) {
  NodeList next = current_;
  next.is_ok = found.ok() && found->complaints.empty();
  next.failures += next.is_ok ? 0 : 1;
  if (found.ok()) {
    next.is_found = true;
    next.addresses = std::move(found->addresses);
    next.detail = absl::StrFormat("%d nodes are known", next.addresses.size());
    if (next.addresses.empty() && option_.kind == NodesOption::Kind::kApi) {
      next.detail += ": " + WhyNoNodes(option_.api);
    }
    if (!found->complaints.empty()) {
      absl::StrAppendFormat(&next.detail, "; %d are left out, the first: %s",
                            found->complaints.size(), found->complaints.front());
    }
  } else {
    next.detail = absl::StrFormat("%s; the %d nodes found before stay", found.status().message(),
                                  next.addresses.size());
  }
  const bool said = next.detail != current_.detail;
  const bool news = said || next.addresses != current_.addresses || next.is_ok != current_.is_ok;
  current_ = std::move(next);
  nodes_.Set(std::make_shared<const NodeList>(current_));
  if (said) {
    Log(current_.is_ok ? LogLevel::kInfo : LogLevel::kWarn, "the list of nodes has changed",
        {{"detail", current_.detail}});
  }
  if (news) {
    changed_();
  }
}

}  // namespace podgpu
