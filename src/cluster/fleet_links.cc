#include "cluster/fleet_links.h"

#include <algorithm>
#include <span>

#include "absl/strings/str_format.h"

namespace podgpu {
namespace {

constexpr size_t kMostLinkBytes = 1'024;
constexpr std::string_view kNodePlaces[] = {"{node}"};
constexpr std::string_view kDashboardPlaces[] = {"{node}", "{gpu}", "{uuid}"};

bool IsLinkByte(char byte) {
  return byte > ' ' && byte < '\x7f' &&
         std::string_view("\"'<>`\\").find(byte) == std::string_view::npos;
}

std::string WithoutPlaces(std::string_view text, std::span<const std::string_view> places) {
  std::string rest(text);
  for (const std::string_view place : places) {
    for (size_t at = rest.find(place); at != std::string::npos; at = rest.find(place)) {
      rest.replace(at, place.size(), "n");
    }
  }
  return rest;
}

StatusOr<std::string> ParseLink(std::string_view text, std::span<const std::string_view> places,
                                std::string_view known) {
  if (text.empty()) {
    return std::string();
  }
  const std::string rest = WithoutPlaces(text, places);
  const size_t scheme = rest.starts_with("https://")  ? 8
                        : rest.starts_with("http://") ? 7
                                                      : std::string::npos;
  if (scheme == std::string::npos || scheme >= rest.size() || rest[scheme] == '/') {
    return absl::InvalidArgumentError("must be http://HOST/ or https://HOST/");
  }
  if (text.size() > kMostLinkBytes || !std::ranges::all_of(rest, IsLinkByte)) {
    return absl::InvalidArgumentError(
        "must have at most 1024 bytes, all of them ASCII, without blanks and quotes");
  }
  if (rest.find_first_of("{}") != std::string::npos) {
    return absl::InvalidArgumentError(absl::StrFormat("knows %s", known));
  }
  return std::string(text);
}

}  // namespace

StatusOr<std::string> ParseNodeLink(std::string_view text) {
  return ParseLink(text, kNodePlaces, "only {node}, which stands for the name of the node");
}

StatusOr<std::string> ParseDashboardLink(std::string_view text) {
  return ParseLink(
      text, kDashboardPlaces,
      "only {node}, {gpu} and {uuid}: the name of the node, the number of the GPU and its "
      "UUID");
}

StatusOr<std::string> ParseFleetLink(std::string_view text) {
  return ParseLink(text, {}, "no names in braces");
}

}  // namespace podgpu
