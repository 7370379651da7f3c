#include <algorithm>
#include <array>
#include <sstream>
#include <string>

#include "tools/tidy/checks.h"

namespace podgpu::tidy {
namespace {

constexpr int kMinProseWords = 20;

constexpr std::array<std::string_view, 11> kWeighty = {
    "grpc",  "google/protobuf/", "boost/",    "openssl/",  "zlib.h", "yaml-cpp/", "nghttp2/",
    "isa-l", "simdjson",         "nlohmann/", "benchmark/"};

bool IsWeighty(const Include& include) {
  return include.target.ends_with(".pb.h") ||
         std::any_of(kWeighty.begin(), kWeighty.end(), [&include](std::string_view prefix) {
           return include.target.starts_with(prefix);
         });
}

// Words of the comment that the file opens with.
int OpeningWords(const File& file) {
  int words = 0;
  for (std::string_view line : file.Lines()) {
    if (!line.starts_with("//")) {
      break;
    }
    std::istringstream stream{std::string(line.substr(2))};
    for (std::string word; stream >> word;) {
      ++words;
    }
  }
  return words;
}

}  // namespace

void CheckHeaders(const Tree& tree, Complaints& complaints) {
  for (const File& file : tree.files) {
    if (!file.is_header()) {
      continue;
    }
    for (const Include& include : IncludesOf(file)) {
      if (IsWeighty(include) && !file.Allows(include.line, NameOf(Rule::kWeightyHeader))) {
        complaints.push_back({file.path(), include.line, Rule::kWeightyHeader,
                              "a header includes \"" + include.target + "\""});
      }
    }
    const int words = OpeningWords(file);
    if (words < kMinProseWords) {
      complaints.push_back({file.path(), 1, Rule::kHeaderProse,
                            "it opens with " + std::to_string(words) + " words"});
    }
  }
}

}  // namespace podgpu::tidy
