// Queries of an end-to-end test on a page of metrics, like grep.
//
// Finds lines by family and labels, without knowledge of podgpu's writer.  A page is a copy of the
// text; one thread.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace podgpu {

class MetricPage {
 public:
  explicit MetricPage(std::string text) : text_(std::move(text)) {}

  // The lines of `family` with all of `labels`, each written as in `gpu="1"`.
  std::vector<std::string_view> Lines(std::string_view family,
                                      const std::vector<std::string>& labels = {}) const;
  bool Has(std::string_view family, const std::vector<std::string>& labels = {}) const {
    return !Lines(family, labels).empty();
  }
  // The number of the only such line; empty when there is none, or more than one.
  std::optional<double> Value(std::string_view family,
                              const std::vector<std::string>& labels = {}) const;
  // The sum over such lines.
  double Sum(std::string_view family, const std::vector<std::string>& labels = {}) const;

  // Names and labels of all lines whose name begins with one of `families`, without values.
  std::set<std::string> Series(const std::vector<std::string>& families) const;

  // The value of a label on a line, "" when it is missing.
  static std::string Label(std::string_view line, std::string_view name);

  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace podgpu
