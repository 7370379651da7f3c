#include "doctor/text_form.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"

#include "base/text.h"

namespace podgpu {
namespace {

constexpr size_t kFactColumn = 30;
constexpr size_t kDetailColumn = 8;
constexpr size_t kTextColumn = 14;     // Of the text after "lose:" and "do:".
constexpr size_t kMostAlikeSkips = 2;  // More skips with one cause fold to one line.

// Green, cyan, yellow, red and dim, by severity.
constexpr std::array<std::string_view, kSeverityCount> kColours = {
    "\033[32m", "\033[36m", "\033[33m", "\033[31m", "\033[2m"};
constexpr std::string_view kPlain = "\033[0m";

std::string Ascii(std::string_view text) {
  std::string ascii;
  for (const char c : text) {
    const bool is_plain = (c >= ' ' && c <= '~') || c == '\n';
    const bool continues = (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
    if (is_plain || !continues) {
      ascii += is_plain ? c : '?';
    }
  }
  return ascii;
}

// Appends `text`, whose first character stands at `column`, and continues lines at `hang`.
void AppendWrapped(std::string& out, std::string_view text, size_t column, size_t hang,
                   size_t width) {
  const size_t room = std::max<size_t>(width, hang + 10) - hang;
  size_t at = column;
  bool is_first = true;
  for (std::string_view word : Split(text, ' ')) {
    if (!is_first && at + 1 + word.size() > hang + room) {
      out += "\n" + std::string(hang, ' ');
      at = hang;
      is_first = true;
    }
    out += is_first ? "" : " ";
    at += is_first ? 0 : 1;
    while (word.size() > hang + room - at) {  // A word that fits in no line, such as a path.
      const size_t part = hang + room - at;
      out += std::string(word.substr(0, part)) + "\n" + std::string(hang, ' ');
      word.remove_prefix(part);
      at = hang;
    }
    out += word;
    at += word.size();
    is_first = false;
  }
  out += "\n";
}

// Appends "        lose: ..." and the like.
void AppendDetail(std::string& out, std::string_view label, const std::string& text, size_t width) {
  const std::string ascii = Ascii(text);
  const std::vector<std::string_view> lines = Split(ascii, '\n');
  for (size_t i = 0; i < lines.size(); ++i) {
    out += std::string(kDetailColumn, ' ') +
           (i == 0 ? absl::StrFormat("%-6s", label) : std::string(6, ' '));
    AppendWrapped(out, lines[i], kTextColumn, kTextColumn, width);
  }
}

std::string Losses(const Finding& finding) {
  std::vector<std::string> words;
  words.reserve(finding.lose.size());
  for (const std::string& key : finding.lose) {
    words.emplace_back(FeatureWords(key));
  }
  return Listed(words);
}

void AppendCheck(std::string& out, const CheckResult& check, const TextForm& form) {
  const Finding& finding = check.finding;
  const std::string_view name = SeverityName(finding.severity);
  const std::string padding(6 - name.size(), ' ');
  const std::string word =
      form.colour
          ? absl::StrFormat("%s%s%s", kColours[static_cast<size_t>(finding.severity)], name, kPlain)
          : std::string(name);
  absl::StrAppendFormat(&out, "  %s%s%-22s", word, padding, check.id);
  const std::string fact = finding.severity == Severity::kSkip && !finding.caused_by.empty()
                               ? "because of " + finding.caused_by
                               : Ascii(finding.fact);
  AppendWrapped(out, fact, kFactColumn, kFactColumn, form.width);
  if (!finding.lose.empty() && finding.severity != Severity::kOk) {
    AppendDetail(out, "lose:", Losses(finding), form.width);
  }
  if (!finding.remedy.empty() && finding.severity != Severity::kOk) {
    AppendDetail(out, "do:", finding.remedy, form.width);
  }
  for (size_t i = 0; form.verbose && i < finding.evidence.size(); ++i) {
    out += std::string(kDetailColumn, ' ');
    AppendWrapped(
        out,
        Ascii(absl::StrFormat("%s: %s", finding.evidence[i].first, finding.evidence[i].second)),
        kDetailColumn, kDetailColumn + 2, form.width);
  }
}

using Checks = std::vector<const CheckResult*>;

bool IsQuiet(const CheckResult& check) {
  return check.finding.severity == Severity::kOk || check.finding.severity == Severity::kSkip;
}

// Returns what all skipped checks have in common: " because of X", ": why", or nothing.
std::string CommonReason(const Checks& skipped) {
  const Finding& first = skipped.front()->finding;
  const bool is_common = std::ranges::all_of(skipped, [&](const CheckResult* check) {
    return check->finding.caused_by == first.caused_by &&
           (!first.caused_by.empty() || check->finding.fact == first.fact);
  });
  if (!is_common) {
    return "";
  }
  return first.caused_by.empty() ? ": " + Ascii(first.fact) : " because of " + first.caused_by;
}

void AppendFolded(std::string& out, std::string_view section, const Checks& checks, size_t width) {
  Checks skipped;
  std::ranges::copy_if(checks, std::back_inserter(skipped), [](const CheckResult* check) {
    return check->finding.severity == Severity::kSkip;
  });
  const size_t ok = checks.size() - skipped.size();
  std::string text = ok > 0 ? absl::StrFormat("%d ok", ok) : "";
  if (!skipped.empty()) {
    absl::StrAppendFormat(&text, "%s%d skipped%s", text.empty() ? "" : ", ", skipped.size(),
                          ok > 0 ? "" : CommonReason(skipped));
  }
  absl::StrAppendFormat(&out, "%-13s", section);
  AppendWrapped(out, text, 13, 13, width);
}

void AppendUnfolded(std::string& out, std::string_view section, const Checks& checks,
                    const TextForm& form) {
  absl::StrAppendFormat(&out, "%s\n", section);
  for (size_t i = 0; i < checks.size();) {
    const std::string& cause = checks[i]->finding.caused_by;
    size_t end = i + 1;
    while (!cause.empty() && end < checks.size() && checks[end]->finding.caused_by == cause) {
      ++end;
    }
    if (!form.verbose && end - i > kMostAlikeSkips) {
      absl::StrAppendFormat(&out, "        %d skipped because of %s\n", end - i, cause);
    } else {
      for (size_t k = i; k < end; ++k) {
        AppendCheck(out, *checks[k], form);
      }
    }
    i = end;
  }
}

void AppendGifts(std::string& out, const DoctorResult& result, size_t width) {
  std::vector<std::string> given;
  std::vector<std::string> missing;
  for (const Gift& gift : result.gives) {
    const std::string words(FeatureWords(gift.feature));
    if (gift.available) {
      given.push_back(words);
    } else if (gift.asked) {
      missing.push_back(absl::StrFormat("%s (%s)", words, gift.because));
    }
  }
  AppendWrapped(out, given.empty() ? "Gives: self metrics only." : "Gives: " + Listed(given) + ".",
                0, 2, width);
  if (!missing.empty() && !given.empty()) {
    AppendWrapped(out, "Gives not: " + Listed(missing) + ".", 0, 2, width);
  }
}

const CheckResult* MostUseful(const DoctorResult& result) {
  for (const Severity severity : {Severity::kFail, Severity::kWarn}) {
    for (const CheckResult& check : result.checks) {
      if (check.finding.severity == severity && !check.finding.change.empty()) {
        return &check;
      }
    }
  }
  return nullptr;
}

}  // namespace

std::string AsText(const DoctorResult& result, const TextForm& form) {
  std::string out;
  AppendWrapped(
      out,
      Ascii(absl::StrFormat("podgpu %s doctor, %s, %s", result.version, result.host,
                            result.in_container ? "in a container" : "not in a container")),
      0, 2, form.width);
  std::vector<std::pair<std::string_view, Checks>> sections;
  for (const CheckResult& check : result.checks) {
    if (sections.empty() || sections.back().first != check.section) {
      sections.emplace_back(check.section, Checks{});
    }
    sections.back().second.push_back(&check);
  }
  const bool folds = !form.verbose && !std::ranges::all_of(result.checks, IsQuiet);
  for (const auto& [section, checks] : sections) {
    if (folds && std::ranges::all_of(checks, [](const auto* check) { return IsQuiet(*check); })) {
      AppendFolded(out, section, checks, form.width);
    } else {
      AppendUnfolded(out, section, checks, form);
    }
  }
  AppendGifts(out, result, form.width);
  if (const CheckResult* const check = MostUseful(result)) {
    AppendWrapped(out,
                  absl::StrFormat("Most useful change: %s (%s).", check->finding.change, check->id),
                  0, 2, form.width);
  }
  absl::StrAppendFormat(&out, "%d ok, %d note, %d warn, %d fail, %d skipped in %.2f s; exit %d\n",
                        result.CountOf(Severity::kOk), result.CountOf(Severity::kNote),
                        result.CountOf(Severity::kWarn), result.CountOf(Severity::kFail),
                        result.CountOf(Severity::kSkip), result.seconds, result.exit_code());
  return out;
}

}  // namespace podgpu
