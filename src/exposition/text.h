// Writes a page: Prometheus' text format 0.0.4, or OpenMetrics 1.0.
//
// For each series of a SeriesPlan it copies name and labels and appends the number. A series whose
// value is absent or a text has no line; a family without lines has no header. OpenMetrics has the
// same lines and numbers with headers of its own and `# EOF` at the end; it requires that counters
// are not negative, so a counter that is negative or NaN has no line there. The functions append to
// `out`, allocate nothing else, and may be called on any thread.
//
// A TextRenderer renders the pages of one exporter, each from the page before it. Most numbers stay
// the same from tick to tick. While the plan stays, and the same lines have numbers, it copies the
// last page and writes only the numbers that have changed, so a tick costs what has changed. In all
// other cases it renders the whole page. Both ways give the same bytes.
#pragma once

#include <bit>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "exposition/series_plan.h"
#include "sample/grid.h"
#include "sample/value.h"

namespace podgpu {

inline constexpr std::string_view kTextContentType = "text/plain; version=0.0.4; charset=utf-8";
inline constexpr std::string_view kOpenMetricsContentType =
    "application/openmetrics-text; version=1.0.0; charset=utf-8";

// Both append the page to `out` and return the number of lines with a number. The plan must fit
// (SeriesPlan::Fits); `grid` may be null if the plan refers to slots only.
size_t RenderText(const SeriesPlan& plan, const Grid* grid, std::span<const Value> slots,
                  std::string& out);
size_t RenderOpenMetrics(const SeriesPlan& plan, const Grid* grid, std::span<const Value> slots,
                         std::string& out);

// The cells and slots from which numbers are read; the plan must fit them.
struct Numbers {
  std::span<const Value> cells;
  std::span<const Value> slots;
};

inline bool IsNumber(const Value& value) {
  return value.kind() == Value::Kind::kInt64 || value.kind() == Value::Kind::kDouble;
}

// The place of a series' number on a page, and that number.
struct NumberPlace {
  uint64_t bits = 0;   // Bits of the number.
  uint32_t begin = 0;  // Place in the page, in bytes.
  uint16_t size = 0;
  Value::Kind kind = Value::Kind::kAbsent;  // Absent: the page has no line of this series.

  static NumberPlace Of(const Value& value, size_t begin, size_t end) {
    return {std::bit_cast<uint64_t>(value.int64()), static_cast<uint32_t>(begin),
            static_cast<uint16_t>(end - begin), value.kind()};
  }
  bool is_shown() const { return kind != Value::Kind::kAbsent; }
  size_t end() const { return size_t{begin} + size; }
  // Returns whether the page shows exactly `value`, or rightly no line.
  bool Shows(const Value& value) const {
    return is_shown() ? value.kind() == kind && std::bit_cast<uint64_t>(value.int64()) == bits
                      : !IsNumber(value);
  }
};
static_assert(sizeof(NumberPlace) == 16);

// Remembers 16 bytes for each series. Used on one thread.
class TextRenderer {
 public:
  // Renders and returns the page.  `last` is the result of the last call, or a text of another
  // length, which has no effect.  The plan must fit, as in RenderText.
  std::string Render(const std::shared_ptr<const SeriesPlan>& plan, const Grid* grid,
                     std::span<const Value> slots, std::string_view last);

  // Number of lines with a number on the last page.
  size_t series_count() const { return series_count_; }
  // Returns how many numbers the last call wrote; the others were copied with the text around them.
  size_t numbers_written() const { return numbers_written_; }

 private:
  bool RenderChanges(const Numbers& numbers, std::string_view last, std::string& page);
  void RenderAll(const Numbers& numbers, std::string& page);

  std::shared_ptr<const SeriesPlan> plan_;  // Plan of the last page; null before the first.
  std::vector<NumberPlace> places_;         // Place of each series of the plan.
  size_t last_bytes_ = 0;
  size_t series_count_ = 0;
  size_t numbers_written_ = 0;
};

}  // namespace podgpu
