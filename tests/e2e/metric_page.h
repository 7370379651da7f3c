// Questions that an end-to-end test asks of a page of metrics, as a person with grep would.
//
// Lines are found by family and labels, without knowing how podgpu writes them.  A page is a copy
// of the text; one thread.
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

  // The lines of `family` that carry all of `labels`, each written as in `gpu="1"`.
  std::vector<std::string_view> Lines(std::string_view family,
                                      const std::vector<std::string>& labels = {}) const;
  bool Has(std::string_view family, const std::vector<std::string>& labels = {}) const {
    return !Lines(family, labels).empty();
  }
  // The number of the only such line; nothing when there is none, or more than one.
  std::optional<double> Value(std::string_view family,
                              const std::vector<std::string>& labels = {}) const;
  // The sum of such lines.
  double Sum(std::string_view family, const std::vector<std::string>& labels = {}) const;

  // Names and labels of all lines whose name begins with one of `families`, without values.
  std::set<std::string> Series(const std::vector<std::string>& families) const;

  // The value of a label on a line, "" when it is not there.
  static std::string Label(std::string_view line, std::string_view name);

  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace podgpu
