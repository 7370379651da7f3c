#include "fields/match_collections.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <utility>

#include "absl/strings/str_format.h"

#include "base/text.h"
#include "fields/field_ids.h"

namespace podgpu {
namespace {

// A field that collections can contain, under one of its names.
struct Candidate {
  std::string name;
  uint16_t field = 0;
};

// The names by which dcgm-exporter matches fields that are read for its own counters alone.
std::string_view HiddenName(uint16_t field) {
  return field == field_ids::kXid ? "DCGM_FI_DEV_XID_ERRORS" : "DCGM_FI_DEV_CLOCKS_EVENT_REASONS";
}

std::vector<Candidate> CandidatesIn(const std::vector<Counter>& counters) {
  std::vector<Candidate> candidates;
  for (const Counter& counter : counters) {
    if (counter.field != nullptr) {
      candidates.push_back({counter.name, counter.field->id});
    }
  }
  for (const Counter& counter : counters) {
    const std::optional<uint16_t> hidden = FieldBehind(counter);
    if (hidden && std::ranges::find(candidates, *hidden, &Candidate::field) == candidates.end()) {
      candidates.push_back({std::string(HiddenName(*hidden)), *hidden});
    }
  }
  return candidates;
}

// A part of a pattern: any run of characters, or one character out of ranges.
struct PatternPart {
  bool is_star = false;
  bool is_negated = false;
  std::vector<std::pair<char, char>> ranges;

  bool Contains(char c) const {
    const bool is_in = std::ranges::any_of(
        ranges, [c](const auto& range) { return range.first <= c && c <= range.second; });
    return is_in != is_negated;
  }
};
using ParsedPattern = std::vector<PatternPart>;

// Takes one character of a class, which may be escaped; nothing where Go's path.Match sees a
// mistake.
std::optional<char> TakeMember(std::string_view& rest) {
  if (rest.starts_with('\\')) {
    rest.remove_prefix(1);
  } else if (rest.starts_with('-') || rest.starts_with(']')) {
    return std::nullopt;
  }
  if (rest.empty()) {
    return std::nullopt;
  }
  const char member = rest.front();
  rest.remove_prefix(1);
  return member;
}

// Takes a class behind its opening bracket.
std::optional<PatternPart> TakeClass(std::string_view& rest) {
  PatternPart part;
  if (rest.starts_with('^')) {
    part.is_negated = true;
    rest.remove_prefix(1);
  }
  while (part.ranges.empty() || !rest.starts_with(']')) {
    const std::optional<char> first = TakeMember(rest);
    std::optional<char> last = first;
    if (first && rest.starts_with('-')) {
      rest.remove_prefix(1);
      last = TakeMember(rest);
    }
    if (!first || !last) {
      return std::nullopt;
    }
    part.ranges.emplace_back(*first, *last);
  }
  rest.remove_prefix(1);
  return part;
}

// Returns nothing for a malformed pattern.
std::optional<ParsedPattern> ParsePattern(std::string_view rest) {
  constexpr std::pair<char, char> kAnyCharacter = {std::numeric_limits<char>::min(),
                                                   std::numeric_limits<char>::max()};
  ParsedPattern parts;
  while (!rest.empty()) {
    const char c = rest.front();
    rest.remove_prefix(1);
    std::optional<PatternPart> part = PatternPart{.is_star = c == '*', .ranges = {{c, c}}};
    if (c == '?') {
      part->ranges = {kAnyCharacter};
    } else if (c == '[') {
      part = TakeClass(rest);
    } else if (c == '\\') {
      part = rest.empty() ? std::nullopt
                          : std::optional(PatternPart{.ranges = {{rest.front(), rest.front()}}});
      rest.remove_prefix(rest.empty() ? 0 : 1);
    }
    if (!part) {
      return std::nullopt;
    }
    parts.push_back(*std::move(part));
  }
  return parts;
}

// A star takes one more character whenever what follows it does not match.
bool MatchesPattern(const ParsedPattern& pattern, std::string_view name) {
  size_t part = 0;
  size_t at = 0;
  std::optional<size_t> star;  // The last star, and the end of what it takes.
  size_t taken = 0;
  while (at < name.size()) {
    if (part < pattern.size() && pattern[part].is_star) {
      star = part++;
      taken = at;
    } else if (part < pattern.size() && pattern[part].Contains(name[at])) {
      ++part;
      ++at;
    } else if (star) {
      part = *star + 1;
      at = ++taken;
    } else {
      return false;
    }
  }
  return std::all_of(pattern.begin() + static_cast<std::ptrdiff_t>(part), pattern.end(),
                     [](const PatternPart& rest) { return rest.is_star; });
}

Status Refused(std::string_view path, const WantedCollection& wanted, const std::string& what) {
  return absl::InvalidArgumentError(
      absl::StrFormat("%s:%d: collection %s %s", path, wanted.line, Quoted(wanted.name), what));
}

StatusOr<std::vector<ParsedPattern>> PatternsOf(const WantedCollection& wanted,
                                                std::string_view path) {
  std::vector<ParsedPattern> patterns;
  for (const std::string& pattern : wanted.patterns) {
    std::optional<ParsedPattern> parsed = ParsePattern(pattern);
    if (!parsed) {
      return Refused(path, wanted,
                     absl::StrFormat("has the malformed pattern %s. Use *, ? and classes such as "
                                     "[a-z]",
                                     Quoted(pattern)));
    }
    patterns.push_back(*std::move(parsed));
  }
  return patterns;
}

// Adds the candidate to collection `i`, unless that has its field under another name.
Status Place(const Candidate& candidate, size_t i, std::span<const WantedCollection> wanted,
             std::string_view path, FieldCollections& collections) {
  const auto other = std::ranges::find_if(collections, [&](const FieldCollection& one) {
    return &one != &collections[i] && std::ranges::count(one.fields, candidate.field) > 0;
  });
  if (other != collections.end()) {
    return Refused(path, wanted[i],
                   absl::StrFormat("and collection %s both contain %s (field %d). Make their "
                                   "patterns narrower",
                                   Quoted(other->name), candidate.name, candidate.field));
  }
  std::vector<uint16_t>& fields = collections[i].fields;
  const auto place = std::ranges::lower_bound(fields, candidate.field);
  if (place == fields.end() || *place != candidate.field) {
    fields.insert(place, candidate.field);
  }
  return absl::OkStatus();
}

}  // namespace

StatusOr<FieldCollections> MatchCollections(std::span<const WantedCollection> wanted,
                                            const Counters& list, std::string_view path) {
  FieldCollections collections;
  std::vector<std::vector<ParsedPattern>> patterns;
  for (const WantedCollection& one : wanted) {
    PODGPU_ASSIGN_OR_RETURN(std::vector<ParsedPattern> parsed, PatternsOf(one, path));
    patterns.push_back(std::move(parsed));
    collections.push_back({one.name, one.interval, {}});
  }
  const std::vector<Candidate> candidates = CandidatesIn(list.counters);
  for (size_t i = 0; i < wanted.size(); ++i) {
    for (const Candidate& candidate : candidates) {
      if (std::ranges::any_of(patterns[i], [&](const ParsedPattern& pattern) {
            return MatchesPattern(pattern, candidate.name);
          })) {
        PODGPU_RETURN_IF_ERROR(Place(candidate, i, wanted, path, collections));
      }
    }
    if (collections[i].fields.empty()) {
      return Refused(path, wanted[i],
                     absl::StrFormat("matches no metric of %s. Correct its patterns, or remove it",
                                     list.path));
    }
  }
  return collections;
}

}  // namespace podgpu
