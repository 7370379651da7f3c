#include "ui/html.h"

#include "absl/strings/str_format.h"

namespace podgpu {
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

std::string HtmlHead(std::string_view title, std::string_view more) {
  return absl::StrFormat(
      "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
      "<meta name=\"color-scheme\" content=\"light dark\"><title>%s</title>"
      "<link rel=\"icon\" href=\"data:,\"><link rel=\"stylesheet\" href=\"./assets/node.css\">%s"
      "</head>\n<body>\n",
      EscapeHtml(title), more);
}

}  // namespace podgpu
