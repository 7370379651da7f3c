#include "tests/strict_parser.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "absl/strings/str_format.h"

#include "base/text.h"

namespace podgpu {
namespace {

bool IsNameStart(char c, bool colon) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (colon && c == ':');
}
bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// A cursor over one line.
class Cursor {
 public:
  explicit Cursor(std::string_view line) : rest_(line) {}

  bool Take(std::string_view literal) {
    if (!rest_.starts_with(literal)) {
      return false;
    }
    rest_.remove_prefix(literal.size());
    return true;
  }

  // A metric name (`colon`) or label name; empty when there is none.
  std::string TakeName(bool colon) {
    size_t length = 0;
    while (length < rest_.size() &&
           (IsNameStart(rest_[length], colon) || (length > 0 && IsDigit(rest_[length])))) {
      ++length;
    }
    return TakeBytes(length);
  }

  // Text up to `end` (exclusive; the line's end when 0) with the escapes `\\`, `\n` and, with
  // `quotes`, `\"`.  Empty on another escape, or when `end` is missing.
  std::optional<std::string> TakeEscaped(char end, bool quotes) {
    std::string text;
    while (!rest_.empty() && !(end != 0 && rest_.front() == end)) {
      if (rest_.front() != '\\') {
        text += TakeBytes(1);
      } else if (Take("\\\\")) {
        text += '\\';
      } else if (Take("\\n")) {
        text += '\n';
      } else if (quotes && Take("\\\"")) {
        text += '"';
      } else {
        return std::nullopt;
      }
    }
    if (end != 0 && rest_.empty()) {
      return std::nullopt;
    }
    return text;
  }

  std::string TakeRest() { return TakeBytes(rest_.size()); }
  bool AtEnd() const { return rest_.empty(); }

 private:
  std::string TakeBytes(size_t count) {
    std::string taken(rest_.substr(0, count));
    rest_.remove_prefix(count);
    return taken;
  }

  std::string_view rest_;
};

// Reads digits from `text`; returns whether there was one.
bool TakeDigits(std::string_view& text) {
  const size_t count = std::min(text.find_first_not_of("0123456789"), text.size());
  text.remove_prefix(count);
  return count > 0;
}

// [+-]digits[.digits][e[+-]digits], NaN, +Inf, -Inf.
bool IsNumber(std::string_view text) {
  if (text == "NaN" || text == "+Inf" || text == "-Inf") {
    return true;
  }
  if (text.starts_with('-') || text.starts_with('+')) {
    text.remove_prefix(1);
  }
  if (!TakeDigits(text)) {
    return false;
  }
  if (text.starts_with('.')) {
    text.remove_prefix(1);
    if (!TakeDigits(text)) {
      return false;
    }
  }
  if (text.starts_with('e')) {
    text.remove_prefix(1);
    if (text.starts_with('-') || text.starts_with('+')) {
      text.remove_prefix(1);
    }
    return TakeDigits(text) && text.empty();
  }
  return text.empty();
}

using Complaint = std::optional<std::string>;

Complaint ParseLabels(Cursor& line, ParsedSample& sample) {
  std::set<std::string> names;
  do {
    std::string name = line.TakeName(false);
    if (name.empty() || name.starts_with("__")) {
      return "no label name, or a reserved one";
    }
    if (!names.insert(name).second) {
      return "label " + name + " twice";
    }
    if (!line.Take("=\"")) {
      return "no =\" after a label name";
    }
    std::optional<std::string> value = line.TakeEscaped('"', true);
    if (!value || !line.Take("\"")) {
      return "a bad escape or an open label value";
    }
    sample.labels.emplace_back(std::move(name), *std::move(value));
  } while (line.Take(","));
  return line.Take("}") ? Complaint() : "labels not closed";
}

Complaint ParseSample(std::string_view text, ParsedSample& sample) {
  Cursor line(text);
  sample.name = line.TakeName(true);
  if (sample.name.empty()) {
    return "no metric name";
  }
  if (line.Take("{")) {
    if (Complaint complaint = ParseLabels(line, sample)) {
      return complaint;
    }
  }
  if (!line.Take(" ")) {
    return "no space before the number";
  }
  sample.number = line.TakeRest();
  return IsNumber(sample.number) ? Complaint() : "not a number: \"" + sample.number + "\"";
}

// The rules that both formats share: lines, blocks, uniqueness.
class Parser {
 public:
  Parser(std::string_view page, bool openmetrics) : page_(page), openmetrics_(openmetrics) {}

  StatusOr<std::vector<ParsedFamily>> Parse() {
    if (CleanUtf8(page_) != page_ || page_.find('\r') != std::string_view::npos ||
        page_.find('\0') != std::string_view::npos) {
      return absl::InvalidArgumentError("invalid UTF-8, a carriage return or a NUL");
    }
    while (!page_.empty()) {
      const size_t end = page_.find('\n');
      if (end == std::string_view::npos) {
        return absl::InvalidArgumentError("the last line has no line break");
      }
      ++line_number_;
      const std::string_view line = page_.substr(0, end);
      page_.remove_prefix(end + 1);
      if (Complaint complaint = ParseLine(line)) {
        return absl::InvalidArgumentError(
            absl::StrFormat("line %d: %s: %s", line_number_, *complaint, line));
      }
    }
    if (Complaint complaint = Finish()) {
      return absl::InvalidArgumentError(*complaint);
    }
    return std::move(families_);
  }

 private:
  Complaint ParseLine(std::string_view line) {
    if (ended_) {
      return "text after # EOF";
    }
    if (line.empty()) {
      return "an empty line";
    }
    if (openmetrics_ && line == "# EOF") {
      ended_ = true;
      return std::nullopt;
    }
    if (!line.starts_with('#')) {
      return AddSample(line);
    }
    Cursor cursor(line);
    for (const std::string_view keyword : {"TYPE", "UNIT", "HELP"}) {
      if (cursor.Take(absl::StrFormat("# %s ", keyword))) {
        return AddMetadata(keyword, cursor);
      }
    }
    return "a comment that is not metadata";
  }

  Complaint AddMetadata(std::string_view keyword, Cursor& cursor) {
    const std::string name = cursor.TakeName(true);
    if (name.empty() || !cursor.Take(" ")) {
      return "no name after " + std::string(keyword);
    }
    const std::string_view first = openmetrics_ ? "TYPE" : "HELP";
    if (keyword == first) {
      if (Complaint complaint = EndFamily()) {
        return complaint;
      }
      if (!family_names_.insert(name).second) {
        return "family " + name + " has two heads";
      }
      families_.emplace_back().name = name;
      keywords_.clear();
    }
    if (families_.empty() || families_.back().name != name || !families_.back().samples.empty()) {
      return "metadata outside the head of its family";
    }
    keywords_.push_back(std::string(keyword));
    if (!InOrder()) {
      return "duplicate metadata or wrong order";
    }
    return keyword == "TYPE" ? TakeType(cursor) : TakeText(keyword, cursor);
  }

  // Text: HELP TYPE.  OpenMetrics: TYPE [UNIT] [HELP].
  bool InOrder() const {
    static const std::set<std::vector<std::string>> kText = {{"HELP"}, {"HELP", "TYPE"}};
    static const std::set<std::vector<std::string>> kOpenMetrics = {
        {"TYPE"}, {"TYPE", "UNIT"}, {"TYPE", "HELP"}, {"TYPE", "UNIT", "HELP"}};
    return (openmetrics_ ? kOpenMetrics : kText).contains(keywords_);
  }

  Complaint TakeType(Cursor& cursor) {
    static const std::set<std::string> kText = {"gauge", "counter", "untyped"};
    static const std::set<std::string> kOpenMetrics = {"gauge", "counter", "unknown"};
    families_.back().type = cursor.TakeRest();
    return (openmetrics_ ? kOpenMetrics : kText).contains(families_.back().type)
               ? Complaint()
               : "unexpected type";
  }

  Complaint TakeText(std::string_view keyword, Cursor& cursor) {
    ParsedFamily& family = families_.back();
    if (keyword == "UNIT") {
      family.unit = cursor.TakeRest();
      return !family.unit.empty() && family.name.ends_with("_" + family.unit)
                 ? Complaint()
                 : "the unit is not the end of the name";
    }
    std::optional<std::string> help =
        openmetrics_ ? cursor.TakeEscaped(0, true) : cursor.TakeEscaped(0, false);
    if (!help) {
      return "a bad escape in HELP";
    }
    family.help = *std::move(help);
    return std::nullopt;
  }

  Complaint AddSample(std::string_view line) {
    ParsedSample sample;
    if (Complaint complaint = ParseSample(line, sample)) {
      return complaint;
    }
    if (families_.empty() || families_.back().type.empty()) {
      return "a sample before its metadata";
    }
    ParsedFamily& family = families_.back();
    const bool counter = family.type == "counter";
    if (sample.name != family.name + (openmetrics_ && counter ? "_total" : "")) {
      return "a sample of another family";
    }
    if (openmetrics_ && counter && (sample.number == "NaN" || sample.number.starts_with('-'))) {
      return "a counter below zero";
    }
    auto labels = sample.labels;
    std::erase_if(labels, [](const auto& label) { return label.second.empty(); });
    std::ranges::sort(labels);
    if (!series_.insert({sample.name, std::move(labels)}).second) {
      return "a duplicate series";
    }
    family.samples.push_back(std::move(sample));
    return std::nullopt;
  }

  Complaint EndFamily() const {
    if (families_.empty() || !families_.back().samples.empty()) {
      return std::nullopt;
    }
    return "family " + families_.back().name + " has no samples";
  }

  Complaint Finish() const {
    if (openmetrics_ && !ended_) {
      return "no # EOF";
    }
    for (const ParsedFamily& family : families_) {
      for (const std::string_view suffix : {"_total", "_created"}) {
        if (openmetrics_ && family.type == "counter" &&
            family_names_.contains(family.name + std::string(suffix))) {
          return "family " + family.name + std::string(suffix) + " clashes with a counter";
        }
      }
    }
    return EndFamily();
  }

  std::string_view page_;
  bool openmetrics_;
  bool ended_ = false;
  int line_number_ = 0;
  std::vector<ParsedFamily> families_;
  std::vector<std::string> keywords_;  // Of the current family's head.
  std::set<std::string> family_names_;
  std::set<std::pair<std::string, std::vector<std::pair<std::string, std::string>>>> series_;
};

}  // namespace

StatusOr<std::vector<ParsedFamily>> ParseTextStrictly(std::string_view page) {
  return Parser(page, false).Parse();
}

StatusOr<std::vector<ParsedFamily>> ParseOpenMetricsStrictly(std::string_view page) {
  return Parser(page, true).Parse();
}

}  // namespace podgpu
