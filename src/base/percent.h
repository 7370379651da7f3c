// Percent-encoding (RFC 3986): bytes that a URL or a header cannot carry, as "%2F".
//
// Used for queries to the API server and for the messages of gRPC.  A form's "+" for a blank is not
// decoded here; the caller who reads a form replaces it first.  Pure functions; any thread.
#pragma once

#include <string>
#include <string_view>

namespace podgpu {

// `text` with every byte encoded but letters, digits and "-._~".
std::string PercentEncode(std::string_view text);

// The bytes that `text` encodes.  What is no valid escape stays as it is.
std::string PercentDecode(std::string_view text);

}  // namespace podgpu
