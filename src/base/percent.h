// Percent-encoding (RFC 3986): bytes that a URL or a header cannot contain, as "%2F".
//
// Used for queries to the API server and for gRPC messages. A "+" that means a blank in a form is
// not decoded; the caller that parses a form replaces it first. Pure functions; any thread.
#pragma once

#include <string>
#include <string_view>

namespace podgpu {

// Returns `text` with every byte encoded except letters, digits and "-._~".
std::string PercentEncode(std::string_view text);

// Returns `text` with its escapes decoded. An invalid escape is left unchanged.
std::string PercentDecode(std::string_view text);

}  // namespace podgpu
