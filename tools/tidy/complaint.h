// A complaint of the tree check: a place, the rule that it breaks and the text of the rule.
//
// Plain data.  Checks append complaints to a list that main prints; the list of a clean tree is
// empty.  One table has all rules (rules.cc), so every rule has a text.
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
  kLostTest,
  kPlainEnglish,
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

// The name of a rule in complaints and in exceptions: "function-length".
std::string_view NameOf(Rule rule);
// The text of a rule, one sentence.
std::string_view SentenceOf(Rule rule);
// "src/a/b.cc:12: arrow: includes ... A folder includes only ..."
std::string Format(const Complaint& complaint);

}  // namespace podgpu::tidy
