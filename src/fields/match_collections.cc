#include "fields/match_collections.h"

#include <algorithm>
#include <fnmatch.h>

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

// Returns the end of the class that begins at `begin`, the place behind its bracket; nothing when
// it is malformed.
std::optional<size_t> EndOfClass(std::string_view pattern, size_t begin) {
  size_t i = begin + 1;
  if (i < pattern.size() && pattern[i] == '^') {
    ++i;
  }
  for (size_t members = 0; i < pattern.size(); ++members) {
    if (pattern[i] == ']' && members > 0) {
      return i + 1;
    }
    if (pattern[i] == ']' || (pattern[i] == '-' && members == 0)) {
      return std::nullopt;
    }
    i += pattern[i] == '\\' ? size_t{2} : size_t{1};
  }
  return std::nullopt;
}

// fnmatch(3) takes what Go refuses as plain characters, so an operator would not hear of a mistake.
bool IsWellFormed(std::string_view pattern) {
  size_t i = 0;
  while (i < pattern.size()) {
    if (pattern[i] == '\\' && i + 1 == pattern.size()) {
      return false;
    }
    if (pattern[i] != '[') {
      i += pattern[i] == '\\' ? size_t{2} : size_t{1};
      continue;
    }
    const std::optional<size_t> end = EndOfClass(pattern, i);
    if (!end) {
      return false;
    }
    i = *end;
  }
  return true;
}

bool Matches(const WantedCollection& wanted, const std::string& name) {
  return std::ranges::any_of(wanted.patterns, [&](const std::string& pattern) {
    return ::fnmatch(pattern.c_str(), name.c_str(), FNM_PATHNAME) == 0;
  });
}

Status Refused(std::string_view path, const WantedCollection& wanted, const std::string& what) {
  return absl::InvalidArgumentError(
      absl::StrFormat("%s:%d: collection %s %s", path, wanted.line, Quoted(wanted.name), what));
}

Status CheckPatterns(std::span<const WantedCollection> wanted, std::string_view path) {
  for (const WantedCollection& one : wanted) {
    for (const std::string& pattern : one.patterns) {
      if (!IsWellFormed(pattern)) {
        return Refused(path, one,
                       absl::StrFormat("has the malformed pattern %s. Use *, ? and classes such as "
                                       "[a-z]",
                                       Quoted(pattern)));
      }
    }
  }
  return absl::OkStatus();
}

// Adds `candidate` to the collection that matches it.
Status Place(const Candidate& candidate, std::span<const WantedCollection> wanted,
             std::string_view path, FieldCollections& collections) {
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (!Matches(wanted[i], candidate.name)) {
      continue;
    }
    std::vector<uint16_t>& fields = collections[i].fields;
    const auto other = std::ranges::find_if(collections, [&](const FieldCollection& one) {
      return &one != &collections[i] && std::ranges::count(one.fields, candidate.field) > 0;
    });
    if (other != collections.end()) {
      return Refused(path, wanted[i],
                     absl::StrFormat("and collection %s both contain %s. Make their patterns "
                                     "narrower",
                                     Quoted(other->name), candidate.name));
    }
    const auto place = std::ranges::lower_bound(fields, candidate.field);
    if (place == fields.end() || *place != candidate.field) {
      fields.insert(place, candidate.field);
    }
  }
  return absl::OkStatus();
}

}  // namespace

StatusOr<FieldCollections> MatchCollections(std::span<const WantedCollection> wanted,
                                            const std::vector<Counter>& counters,
                                            std::string_view path) {
  PODGPU_RETURN_IF_ERROR(CheckPatterns(wanted, path));
  FieldCollections collections;
  for (const WantedCollection& one : wanted) {
    collections.push_back({one.name, one.interval, {}});
  }
  for (const Candidate& candidate : CandidatesIn(counters)) {
    PODGPU_RETURN_IF_ERROR(Place(candidate, wanted, path, collections));
  }
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (collections[i].fields.empty()) {
      return Refused(path, wanted[i],
                     "matches no metric on the list. Correct its patterns, or remove it");
    }
  }
  return collections;
}

}  // namespace podgpu
