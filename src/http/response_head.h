// The bytes of a response before its body: status line and headers.
//
// Pure functions.  The server sends the result and the borrowed body in one gathered write, so a
// response costs one small string whatever the size of its body.  Line breaks inside header values
// become blanks: no value can start a header of its own.  Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "http/server.h"

namespace podgpu {

// What happens to the connection after the response, and how the client learns of it.
enum class Persistence : uint8_t { kClose, kKeepAlive, kKeepAliveHttp10 };

// `unix_s` is the time for the Date header, in seconds since 1970.
std::string FormatResponseHead(const HttpResponse& response, Persistence persistence,
                               int64_t unix_s);

// "Not Found" for 404; empty for a status that we never send.
std::string_view ReasonPhrase(int status);

// "Sun, 06 Nov 1994 08:49:37 GMT" (RFC 9110, 5.6.7).
std::string FormatHttpDate(int64_t unix_s);

}  // namespace podgpu
