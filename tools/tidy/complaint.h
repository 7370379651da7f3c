// What the tree check says: one complaint is one place, one rule and the sentence behind the rule.
//
// Plain data.  Checks append to a list that main prints; an empty list is a clean tree.  The rules
// themselves stand in one table (rules.cc), so that no rule is without its sentence.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace podgpu::tidy {

enum class Rule {
  kArrow,
  kSimArrow,
  kLineLength,
  kFunctionLength,
  kLongFunctions,
  kHeaderLength,
  kFileLength,
  kForbiddenCall,
  kWeightyHeader,
  kHeaderProse,
  kDeadFile,
  kBrokenLink,
  kDeadReference,
  kOpenEnd,
};

struct Complaint {
  std::string file;  // Relative to the root of the tree.
  int line = 0;      // From 1.
  Rule rule = Rule::kArrow;
  std::string what;  // What was found: "includes \"kube/pod_resources.h\"".

  bool operator==(const Complaint&) const = default;
};

using Complaints = std::vector<Complaint>;

// The name of a rule as printed and as written in exceptions: "function-length".
std::string_view NameOf(Rule rule);
// The sentence behind a rule.
std::string_view SentenceOf(Rule rule);
// "src/a/b.cc:12: arrow: includes ... A folder includes only ..."
std::string Format(const Complaint& complaint);

}  // namespace podgpu::tidy
