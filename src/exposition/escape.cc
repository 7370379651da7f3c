#include "exposition/escape.h"

#include <algorithm>

#include "base/text.h"

namespace podgpu {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

void AppendEscaped(std::string_view text, bool escape_quotation_marks, std::string& out) {
  for (const char c : CleanUtf8(text)) {
    if (c == '\n') {
      out += "\\n";
    } else if (c == '\\' || (c == '"' && escape_quotation_marks)) {
      out += '\\';
      out += c;
    } else if (c == '\0' || c == '\r') {
      out += kReplacement;
    } else {
      out += c;
    }
  }
}

std::string Escaped(std::string_view text, bool escape_quotation_marks) {
  std::string out;
  AppendEscaped(text, escape_quotation_marks, out);
  return out;
}

}  // namespace

void AppendLabelValue(std::string_view value, std::string& out) { AppendEscaped(value, true, out); }

void AppendLabelName(std::string_view name, std::string& out) {
  if (name.empty() || IsDigit(name.front())) {
    out += '_';
  }
  std::ranges::transform(name, std::back_inserter(out),
                         [](char c) { return IsLetter(c) || IsDigit(c) ? c : '_'; });
}

std::string TextHelp(std::string_view help) { return Escaped(help, false); }
std::string OpenMetricsHelp(std::string_view help) { return Escaped(help, true); }

bool IsMetricName(std::string_view name) {
  return !name.empty() && !IsDigit(name.front()) &&
         std::ranges::all_of(name, [](char c) { return IsLetter(c) || IsDigit(c) || c == ':'; });
}

}  // namespace podgpu
