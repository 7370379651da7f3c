#include "base/roff.h"

namespace podgpu {

std::string RoffText(std::string_view text) {
  std::string roff;
  bool at_line_start = true;
  for (const char c : text) {
    if (at_line_start && (c == '.' || c == '\'')) {
      roff += "\\&";
    }
    at_line_start = c == '\n';
    switch (c) {
      case '\\':
        roff += "\\e";
        break;
      case '-':
        roff += "\\-";
        break;
      case '"':
        roff += "\\(dq";
        break;
      case '~':
        roff += "\\(ti";
        break;
      case '^':
        roff += "\\(ha";
        break;
      default:
        roff += c;
    }
  }
  return roff;
}

}  // namespace podgpu
