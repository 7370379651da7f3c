// The bytes of a response before its body: status line and headers.
//
// Pure functions. The server sends them together with the borrowed body in one gathered write, so a
// response costs one small string for any body size. Line breaks in header values become blanks, so
// no value can add a header. Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "http/server.h"

namespace podgpu {

// The fate of the connection after the response, and the way in which the client learns it.
enum class Persistence : uint8_t { kClose, kKeepAlive, kKeepAliveHttp10 };

// `unix_s` is the time for the Date header, in seconds since 1970.
std::string FormatResponseHead(const HttpResponse& response, Persistence persistence,
                               int64_t unix_s);

// Returns "Not Found" for 404; empty for a status that the server never sends.
std::string_view ReasonPhrase(int status);

// Returns "Sun, 06 Nov 1994 08:49:37 GMT" (RFC 9110, 5.6.7).
std::string FormatHttpDate(int64_t unix_s);

}  // namespace podgpu
