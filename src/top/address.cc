#include "top/address.h"

#include <limits>

#include "absl/strings/str_format.h"

#include "base/text.h"

namespace podgpu {
namespace {

Status RefuseUrl(std::string_view url, std::string_view why) {
  return absl::InvalidArgumentError(absl::StrFormat(
      "%s %s. Write http://HOST:PORT, https://HOST:PORT or unix:/PATH", Quoted(url), why));
}

// Removes `prefix` from the beginning, if it is there.
bool TakePrefix(std::string_view& text, std::string_view prefix) {
  const bool has = text.starts_with(prefix);
  text.remove_prefix(has ? prefix.size() : 0);
  return has;
}

bool IsPlain(std::string_view text) {
  for (const char c : text) {
    if (c <= ' ' || c == '\x7f' || c == '"' || c == '\\' || c == '@') {
      return false;
    }
  }
  return true;
}

}  // namespace

StatusOr<TopAddress> ParseTopAddress(std::string_view url, uint16_t default_port) {
  TopAddress address;
  address.url = std::string(url);
  std::string_view rest = url;
  constexpr size_t kLongest = 512;
  if (url.size() > kLongest || !IsPlain(url)) {
    return RefuseUrl(url, "has a character that no URL of podgpu has");
  }
  if (TakePrefix(rest, "unix:")) {
    TakePrefix(rest, "//");
    address.unix_path = std::string(rest);
    return rest.starts_with('/') ? StatusOr<TopAddress>(address)
                                 : RefuseUrl(url, "names no absolute path");
  }
  address.tls = TakePrefix(rest, "https://");
  if (!address.tls) {
    TakePrefix(rest, "http://");
  }
  if (rest.find("://") != std::string_view::npos) {
    return RefuseUrl(url, "has another scheme");
  }
  const size_t path = std::min(rest.find_first_of("/?#"), rest.size());
  std::string_view base = rest.substr(path);
  rest = rest.substr(0, path);
  if (base.find_first_of("?#") != std::string_view::npos) {
    return RefuseUrl(url, "has a query");
  }
  while (base.ends_with('/')) {
    base.remove_suffix(1);
  }
  // People paste the address that Prometheus reads.
  constexpr std::string_view kMetrics = "/metrics";
  base.remove_suffix(base.ends_with(kMetrics) ? kMetrics.size() : 0);
  address.base = std::string(base);
  std::string_view port;
  if (TakePrefix(rest, "[")) {
    const size_t end = rest.find(']');
    if (end == std::string_view::npos) {
      return RefuseUrl(url, "has no ] after its address");
    }
    port = rest.substr(end + 1);
    rest = rest.substr(0, end);
  } else if (const size_t colon = rest.find(':'); colon != std::string_view::npos) {
    port = rest.substr(colon);
    rest = rest.substr(0, colon);
  }
  address.host = std::string(rest);
  if (address.host.empty()) {
    return RefuseUrl(url, "names no host");
  }
  address.port = default_port;
  if (!port.empty()) {
    const auto number = ParseDecimal(port.substr(1));
    if (port[0] != ':' || !number || *number == 0 ||
        *number > std::numeric_limits<uint16_t>::max()) {
      return RefuseUrl(url, "has no port from 1 to 65535");
    }
    address.port = static_cast<uint16_t>(*number);
  }
  return address;
}

}  // namespace podgpu
