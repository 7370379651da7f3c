#include "http/request_guard.h"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <netinet/in.h>

#include "absl/strings/str_format.h"

#include "base/text.h"
#include "http/ignore_case.h"

namespace podgpu {
namespace {

struct OriginScheme {
  std::string_view prefix;
  std::string_view usual_port;
};
constexpr OriginScheme kOriginSchemes[] = {{"http://", ":80"}, {"https://", ":443"}};

std::string_view WithoutSuffix(std::string_view text, std::string_view suffix) {
  text.remove_suffix(text.ends_with(suffix) ? suffix.size() : 0);
  return text;
}

// Returns whether `host` served a page of this origin.
bool IsOfHost(std::string_view origin, std::string_view host) {
  return std::ranges::any_of(kOriginSchemes, [&](const OriginScheme& scheme) {
    return origin.starts_with(scheme.prefix) &&
           AreEqualIgnoringCase(
               WithoutSuffix(origin.substr(scheme.prefix.size()), scheme.usual_port),
               WithoutSuffix(host, scheme.usual_port));
  });
}

// Returns the name in "name:9400", "10.0.0.7" or "[::1]:9400", without port, brackets and trailing
// dot.
std::string_view HostName(std::string_view host) {
  if (host.starts_with('[')) {
    return host.substr(1, host.find(']') - 1);
  }
  return WithoutSuffix(host.substr(0, host.find(':')), ".");
}

bool IsLiteralAddress(std::string_view host) {
  const std::string text(host);
  std::array<unsigned char, sizeof(in6_addr)> address{};
  return ::inet_pton(AF_INET, text.c_str(), address.data()) == 1 ||
         ::inet_pton(AF_INET6, text.c_str(), address.data()) == 1;
}

bool IsOneOf(std::string_view name, const std::vector<std::string>& names) {
  return std::ranges::any_of(names, [&](const std::string& one) {
    return one == "*" || (!one.empty() && AreEqualIgnoringCase(WithoutSuffix(one, "."), name));
  });
}

// Methods that change nothing by definition (RFC 9110, 9.2.1).
bool IsSafe(std::string_view method) {
  return method == "GET" || method == "HEAD" || method == "OPTIONS" || method == "TRACE";
}

}  // namespace

bool RequestGuard::IsOurs(std::string_view host) const {
  const std::string_view name = HostName(host);
  // An empty Host comes only from HTTP/1.0, which no browser uses.
  return host.empty() || IsLiteralAddress(name) || AreEqualIgnoringCase(name, "localhost") ||
         IsOneOf(name, options_.own_names) || IsOneOf(name, options_.allowed_hosts);
}

GuardVerdict RequestGuard::Judge(const HttpRequest& request) const {
  const bool is_control =
      std::ranges::find(options_.control_paths, request.path) != options_.control_paths.end();
  if ((is_control || !options_.allowed_hosts.empty()) && !IsOurs(request.host)) {
    return GuardVerdict::kForeignHost;
  }
  const bool is_foreign = AreEqualIgnoringCase(request.fetch_site, "cross-site") ||
                          (!request.origin.empty() && !IsOfHost(request.origin, request.host));
  return is_control && is_foreign && !IsSafe(request.method) ? GuardVerdict::kCrossSite
                                                             : GuardVerdict::kPass;
}

std::string RequestGuard::Explain(GuardVerdict verdict, const HttpRequest& request) {
  if (verdict == GuardVerdict::kCrossSite) {
    return absl::StrFormat(
        "refused: a page of another site (Origin %s) made a browser send this %s to %s. Send it "
        "without an Origin header, as curl does, or from a page of this host",
        Quoted(request.origin), request.method, Quoted(request.host));
  }
  return absl::StrFormat(
      "refused: Host %s is not an address, localhost or a name of this machine, so another site "
      "may have pointed that name here. Use an address, or allow the name: --web-allowed-hosts",
      Quoted(request.host));
}

}  // namespace podgpu
