#include "exposition/text_renderer.h"

#include "base/status.h"
#include "exposition/number.h"

namespace podgpu {
namespace {

// Pages grow a little from tick to tick, as numbers gain digits.
constexpr size_t kRoomForDigitsBytes = 4096;

}  // namespace

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
