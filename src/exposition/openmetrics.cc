#include "exposition/openmetrics.h"

#include "exposition/lines.h"

namespace podgpu {

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
