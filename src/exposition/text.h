// Writes a page: Prometheus' text format 0.0.4, or OpenMetrics 1.0.
//
// For each series of a SeriesPlan it copies name and labels and appends the number. A series whose
// value is absent or a text has no line; a family without lines has no header. OpenMetrics has the
// same lines and numbers with headers of its own and `# EOF` at the end; it requires that counters
// are not negative, so a counter that is negative or NaN has no line there. Appends to `out` and
// allocates nothing else. The inline functions are those that a tick calls for every series
// (text_renderer.h). Any thread.
#pragma once

#include <bit>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

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

// Checks that `plan` fits, and returns the numbers.
Numbers NumbersFor(const SeriesPlan& plan, const Grid* grid, std::span<const Value> slots);

inline bool IsNumber(const Value& value) {
  return value.kind() == Value::Kind::kInt64 || value.kind() == Value::Kind::kDouble;
}

// Returns the value of a line; it is a number or absent, or the text of a cell.
inline Value ValueOf(const NumberSource& source, const Numbers& numbers) {
  switch (source.kind) {
    case NumberSource::Kind::kCell:
      return numbers.cells[source.index];
    case NumberSource::Kind::kSlot:
      return numbers.slots[source.index];
    case NumberSource::Kind::kOne:
      return Value::OfInt64(1);
    case NumberSource::Kind::kBit:
    case NumberSource::Kind::kWord:
      break;
  }
  const Value& cell = numbers.cells[source.index];
  if (cell.kind() != Value::Kind::kInt64) {
    return Value::OfAbsence(Absence::kWrongType);
  }
  return source.kind == NumberSource::Kind::kBit ? Value::OfInt64((cell.int64() >> source.bit) & 1)
                                                 : Value::OfInt64(cell.int64() == source.bit);
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

// The form in which a page writes a family.
struct FamilyForm {
  std::string_view header;
  bool at_least_zero = false;  // Leave out numbers that are negative or NaN.
};

// Appends the header and the lines of `family`, or nothing when no series has a number, and returns
// the number of lines.  If `places` is not empty, it has an element for each series of the plan,
// and receives those of the lines.
size_t AppendFamilyLines(const SeriesPlan& plan, const SeriesPlan::FamilyLines& family,
                         const FamilyForm& form, const Numbers& numbers, std::string& out,
                         std::span<NumberPlace> places = {});

}  // namespace podgpu
