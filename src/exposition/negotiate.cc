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

// Returns the highest q of the entries that match `names`, with its place in the list.
struct Rank {
  double q = 0;
  size_t place = 0;
};
template <typename Predicate>
std::optional<Rank> BestRank(const std::vector<Entry>& entries, Predicate names) {
  std::optional<Rank> best;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (names(entries[i]) && (!best || entries[i].q > best->q)) {
      best = Rank{entries[i].q, i};
    }
  }
  return best;
}

bool PrefersOpenMetrics(std::string_view accept) {
  const std::vector<Entry> entries = ParseList(accept);
  const std::optional<Rank> openmetrics = BestRank(entries, NamesOpenMetrics);
  if (!openmetrics || openmetrics->q == 0) {
    return false;
  }
  std::optional<Rank> text = BestRank(entries, NamesText);
  if (!text) {
    text = BestRank(entries, CoversText);
  }
  return !text || text->q < openmetrics->q ||
         (text->q == openmetrics->q && openmetrics->place < text->place);
}

bool PrefersGzip(std::string_view accept_encoding) {
  const std::vector<Entry> entries = ParseList(accept_encoding);
  std::optional<Rank> gzip = BestRank(
      entries, [](const Entry& entry) { return entry.type == "gzip" || entry.type == "x-gzip"; });
  if (!gzip) {
    gzip = BestRank(entries, [](const Entry& entry) { return entry.type == "*"; });
  }
  const std::optional<Rank> identity =
      BestRank(entries, [](const Entry& entry) { return entry.type == "identity"; });
  return gzip && gzip->q > 0 && (!identity || gzip->q >= identity->q);
}

}  // namespace

PageForm ChooseForm(std::string_view accept, std::string_view accept_encoding) {
  return {.openmetrics = PrefersOpenMetrics(accept), .gzip = PrefersGzip(accept_encoding)};
}

}  // namespace podgpu
