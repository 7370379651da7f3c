#include "ui/html.h"

#include "absl/strings/str_format.h"

namespace podgpu {
namespace {

constexpr std::string_view kStyle =
    "body{font:14px/1.5 system-ui,sans-serif;margin:2em auto;max-width:70em;padding:0 1em;"
    "color:#1a2027;background:#fff}"
    "table{border-collapse:collapse;margin:.5em 0 1.5em}caption{text-align:left;font-weight:600}"
    "th,td{text-align:left;padding:.2em 1em .2em 0;border-bottom:1px solid "
    "#87919c;vertical-align:top}"
    "a{color:#0b62c4}.ok{color:#1b6e3c}.degraded,.waiting,.starting,.recovering{color:#8a5a00}"
    ".lost,.unresponsive{color:#b3261e}"
    "@media(prefers-color-scheme:dark){body{color:#e4e8ec;background:#10151b}a{color:#6cb2ff}"
    ".ok{color:#5fd38d}.degraded,.waiting,.starting,.recovering{color:#e0a92e}"
    ".lost,.unresponsive{color:#ff8a80}}";

}  // namespace

std::string EscapeHtml(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

std::string HtmlHead(std::string_view title) {
  return absl::StrFormat(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>%s</title>"
      "<style>%s</style></head>\n<body>\n",
      EscapeHtml(title), kStyle);
}

}  // namespace podgpu
