// Turns an answer with a status other than 200 into an error with the server's message.
//
// The API server and the kubelet refuse in the same way: a status, and a message as JSON or plain
// text. The message is quoted to its end, which names the resource and the scope. Pure functions;
// any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace podgpu {

// 401, 403, 404, 410 and 429 have codes of their own; all others are kUnavailable.
Status StatusOfAnswer(int code, const std::string& sentence);

// Returns `text` in quotation marks: valid UTF-8, without control characters, cut if too long.
std::string QuotedRefusal(std::string_view text);

}  // namespace podgpu
