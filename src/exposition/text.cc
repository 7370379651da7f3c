#include "exposition/text.h"

#include "base/status.h"
#include "exposition/number.h"

namespace podgpu {

Numbers NumbersFor(const SeriesPlan& plan, const Grid* grid, std::span<const Value> slots) {
  PODGPU_CHECK(plan.Fits(grid, slots));
  return {grid == nullptr ? std::span<const Value>() : std::span<const Value>(grid->cells()),
          slots};
}

size_t AppendFamilyLines(const SeriesPlan& plan, const SeriesPlan::FamilyLines& family,
                         const FamilyForm& form, const Numbers& numbers, std::string& out,
                         std::span<NumberPlace> places) {
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

}  // namespace podgpu
