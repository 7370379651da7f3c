#include "exposition/text.h"

#include "base/status.h"
#include "exposition/number.h"

namespace podgpu {
namespace {

// Pages grow a little from tick to tick, as numbers gain digits.
constexpr size_t kRoomForDigitsBytes = 4096;

// Checks that `plan` fits, and returns the numbers.
Numbers NumbersFor(const SeriesPlan& plan, const Grid* grid, std::span<const Value> slots) {
  PODGPU_CHECK(plan.Fits(grid, slots));
  return {grid == nullptr ? std::span<const Value>() : std::span<const Value>(grid->cells()),
          slots};
}

// Returns the value of a line; it is a number or absent, or the text of a cell.
Value ValueOf(const NumberSource& source, const Numbers& numbers) {
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
                         std::span<NumberPlace> places = {}) {
  size_t count = 0;
  for (size_t i = family.first_series; i < size_t{family.first_series} + family.series_count; ++i) {
    const SeriesPlan::Series& series = plan.series()[i];
    const Value value = ValueOf(series.source, numbers);
    if (!IsNumber(value) || (form.at_least_zero && !(value.number() >= 0))) {
      continue;
    }
    if (count++ == 0) {
      out += form.header;
    }
    out += family.family.name;
    out += plan.label_blocks()[series.labels];
    const size_t begin = out.size();
    AppendNumber(value, family.family.format, plan.scales()[series.scale], out);
    if (!places.empty()) {
      places[i] = NumberPlace::Of(value, begin, out.size());
    }
    out += '\n';
  }
  return count;
}

}  // namespace

size_t RenderText(const SeriesPlan& plan, const Grid* grid, std::span<const Value> slots,
                  std::string& out) {
  const Numbers numbers = NumbersFor(plan, grid, slots);
  size_t count = 0;
  for (const SeriesPlan::FamilyLines& family : plan.families()) {
    count += AppendFamilyLines(plan, family, {family.text_header}, numbers, out);
  }
  return count;
}

size_t RenderOpenMetrics(const SeriesPlan& plan, const Grid* grid, std::span<const Value> slots,
                         std::string& out) {
  const Numbers numbers = NumbersFor(plan, grid, slots);
  size_t count = 0;
  for (const SeriesPlan::FamilyLines& family : plan.families()) {
    count += AppendFamilyLines(
        plan, family, {family.openmetrics_header, family.openmetrics_counter}, numbers, out);
  }
  out += "# EOF\n";
  return count;
}

std::string TextRenderer::Render(const std::shared_ptr<const SeriesPlan>& plan, const Grid* grid,
                                 std::span<const Value> slots, std::string_view last) {
  const Numbers numbers = NumbersFor(*plan, grid, slots);
  std::string page;
  page.reserve(last_bytes_ + kRoomForDigitsBytes);
  const bool is_continued = plan == plan_ && last.size() == last_bytes_;
  plan_ = plan;
  numbers_written_ = 0;
  if (!is_continued || !RenderChanges(numbers, last, page)) {
    page.clear();
    RenderAll(numbers, page);
  }
  last_bytes_ = page.size();
  return page;
}

// Returns false if a line has appeared or disappeared; `page` and the places are then invalid.
bool TextRenderer::RenderChanges(const Numbers& numbers, std::string_view last, std::string& page) {
  size_t copied = 0;  // Bytes of `last` whose place on `page` is settled.
  for (const SeriesPlan::FamilyLines& lines : plan_->families()) {
    for (size_t i = lines.first_series; i < size_t{lines.first_series} + lines.series_count; ++i) {
      const SeriesPlan::Series& series = plan_->series()[i];
      NumberPlace& place = places_[i];
      const Value value = ValueOf(series.source, numbers);
      if (place.Shows(value)) {
        // All text behind the last written number moves by the same distance. If the page became
        // shorter, the difference wraps around and so does the sum, which then is the right place.
        place.begin += static_cast<uint32_t>(page.size() - copied);
        continue;
      }
      // A line more or less may also mean a header more or less, which only the whole page decides.
      if (!place.is_shown() || !IsNumber(value)) {
        return false;
      }
      page += last.substr(copied, place.begin - copied);
      copied = place.end();
      const size_t begin = page.size();
      AppendNumber(value, lines.family.format, plan_->scales()[series.scale], page);
      place = NumberPlace::Of(value, begin, page.size());
      ++numbers_written_;
    }
  }
  page += last.substr(copied);
  return true;
}

void TextRenderer::RenderAll(const Numbers& numbers, std::string& page) {
  places_.assign(plan_->series().size(), NumberPlace());
  series_count_ = 0;
  for (const SeriesPlan::FamilyLines& family : plan_->families()) {
    series_count_ +=
        AppendFamilyLines(*plan_, family, {family.text_header}, numbers, page, places_);
  }
  PODGPU_CHECK(page.size() < UINT32_MAX);
  numbers_written_ = series_count_;
}

}  // namespace podgpu
