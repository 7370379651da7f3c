#include "exposition/negotiate.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <vector>

#include "base/text.h"

namespace podgpu {
namespace {

// One entry of a list header: `type;name=value;q=0.5`.
struct Entry {
  std::string type;  // In lower case.
  std::optional<std::string> version;
  double q = 1.0;
};

std::string Lower(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return lower;
}

// Splits `text` at each `separator` outside quotation marks.
std::vector<std::string_view> SplitOutsideQuotes(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  bool quoted = false;
  size_t begin = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (quoted && text[i] == '\\') {
      ++i;
    } else if (text[i] == '"') {
      quoted = !quoted;
    } else if (text[i] == separator && !quoted) {
      parts.push_back(text.substr(begin, i - begin));
      begin = i + 1;
    }
  }
  parts.push_back(text.substr(begin));
  return parts;
}

// "0" to "1" with any number of decimals, or nothing.
std::optional<double> ParseQ(std::string_view text) {
  double q = 0;
  const char* end = text.data() + text.size();
  const auto [next, error] = std::from_chars(text.data(), end, q, std::chars_format::fixed);
  if (error != std::errc{} || next != end || !(q >= 0 && q <= 1)) {
    return std::nullopt;
  }
  return q;
}

std::optional<Entry> ParseEntry(std::string_view text) {
  const std::vector<std::string_view> parts = SplitOutsideQuotes(text, ';');
  Entry entry{.type = Lower(Trim(parts.front())), .version = {}, .q = 1.0};
  for (size_t i = 1; i < parts.size(); ++i) {
    const size_t equals = std::min(parts[i].find('='), parts[i].size());
    const std::string name = Lower(Trim(parts[i].substr(0, equals)));
    const std::string_view value =
        Trim(parts[i].substr(std::min(equals + 1, parts[i].size())), " \t\"");
    if (name == "version") {
      entry.version = value;
    } else if (name == "q") {
      const std::optional<double> q = ParseQ(value);
      if (!q) {
        return std::nullopt;
      }
      entry.q = *q;
    }
  }
  return entry;
}

std::vector<Entry> ParseList(std::string_view header) {
  std::vector<Entry> entries;
  for (const std::string_view part : SplitOutsideQuotes(header, ',')) {
    if (std::optional<Entry> entry = ParseEntry(part)) {
      entries.push_back(*std::move(entry));
    }
  }
  return entries;
}

bool NamesOpenMetrics(const Entry& entry) {
  return entry.type == "application/openmetrics-text" && entry.version.value_or("1.0.0") == "1.0.0";
}

bool NamesText(const Entry& entry) {
  return entry.type == "text/plain" && entry.version.value_or("0.0.4") == "0.0.4";
}

bool CoversText(const Entry& entry) { return entry.type == "*/*" || entry.type == "text/*"; }

// Returns the highest q of the entries that match `names`; nothing if none does.
template <typename Predicate>
std::optional<double> BestQ(const std::vector<Entry>& entries, Predicate names) {
  std::optional<double> best;
  for (const Entry& entry : entries) {
    if (names(entry) && entry.q > best.value_or(-1)) {
      best = entry.q;
    }
  }
  return best;
}

// DCGM's counters have no `_total` in their names, and OpenMetrics has no counters without it: it
// shows them as of unknown type.  So the place and q of OpenMetrics do not matter where the client
// takes text too.
bool TakesOnlyOpenMetrics(std::string_view accept) {
  const std::vector<Entry> entries = ParseList(accept);
  std::optional<double> text = BestQ(entries, NamesText);
  if (!text) {
    text = BestQ(entries, CoversText);
  }
  return text.value_or(0) == 0 && BestQ(entries, NamesOpenMetrics).value_or(0) > 0;
}

bool PrefersGzip(std::string_view accept_encoding) {
  const std::vector<Entry> entries = ParseList(accept_encoding);
  std::optional<double> gzip = BestQ(
      entries, [](const Entry& entry) { return entry.type == "gzip" || entry.type == "x-gzip"; });
  if (!gzip) {
    gzip = BestQ(entries, [](const Entry& entry) { return entry.type == "*"; });
  }
  const std::optional<double> identity =
      BestQ(entries, [](const Entry& entry) { return entry.type == "identity"; });
  const double packed = gzip.value_or(0);
  return packed > 0 && packed >= identity.value_or(0);
}

}  // namespace

PageForm ChooseForm(std::string_view accept, std::string_view accept_encoding) {
  return {.openmetrics = TakesOnlyOpenMetrics(accept), .gzip = PrefersGzip(accept_encoding)};
}

}  // namespace podgpu
