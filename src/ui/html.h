// The common head of every HTML page, and the escaping of text that comes from outside.
//
// The pages have one style sheet, assets/node.css, nothing inline, and refer to no other origin.
// Pure functions; any thread.
#pragma once

#include <string>
#include <string_view>

namespace podgpu {

// Returns `text` with & < > " ' as entities.
std::string EscapeHtml(std::string_view text);

// Returns everything from the doctype to the opened body; escapes `title`.  `more` goes into the
// head as it is: elements that this page alone loads.
std::string HtmlHead(std::string_view title, std::string_view more = {});

}  // namespace podgpu
