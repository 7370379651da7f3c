// The common head of every HTML page, and the escaping of text that comes from outside.
//
// The pages have no scripts and refer to no other origin.  Pure functions; any thread.
#pragma once

#include <string>
#include <string_view>

namespace podgpu {

// Returns `text` with & < > " ' as entities.
std::string EscapeHtml(std::string_view text);

// Returns everything from the doctype to the opened body; escapes `title`.
std::string HtmlHead(std::string_view title);

}  // namespace podgpu
