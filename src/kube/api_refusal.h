// What an answer with another status than 200 means, and the words that the server has for it.
//
// The API server and the kubelet refuse in the same way: a status, and a sentence as JSON or plain
// text.  A refusal is quoted to its end, since that names the resource and the scope.  Pure
// functions; any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace podgpu {

// 401, 403, 404, 410 and 429 have codes of their own; every other one is kUnavailable.
Status StatusOfAnswer(int code, const std::string& sentence);

// In quotation marks, in valid UTF-8, without control characters and not too long.
std::string QuotedRefusal(std::string_view text);

}  // namespace podgpu
