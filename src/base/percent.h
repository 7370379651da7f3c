// Percent-encoding (RFC 3986): bytes that a URL or a header cannot contain, as "%2F".
//
// Used for queries of requests, for those to the API server, and for gRPC messages. Pure functions;
// any thread.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace podgpu {

// Returns `text` with every byte encoded except letters, digits and "-._~".
std::string PercentEncode(std::string_view text);

// Returns `text` with its escapes decoded. An invalid escape is left unchanged.
std::string PercentDecode(std::string_view text);

// Returns name and value of each parameter of a query, "node=a%2Fb&gpu=3"; a "+" is a blank, as in
// forms. Only values are decoded; names are borrowed. A parameter without "=" has the value "".
std::vector<std::pair<std::string_view, std::string>> QueryParameters(std::string_view query);

}  // namespace podgpu
