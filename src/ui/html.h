// What every page for people begins with, and how text from outside gets into it.
//
// The pages carry no scripts and name no other origin.  Pure functions; any thread.
#pragma once

#include <string>
#include <string_view>

namespace podgpu {

// `text` with & < > " ' as entities.
std::string EscapeHtml(std::string_view text);

// From the doctype to the opened body; `title` is escaped here.
std::string HtmlHead(std::string_view title);

}  // namespace podgpu
