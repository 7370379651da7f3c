#include "exposition/text.h"

#include "exposition/lines.h"

namespace podgpu {

size_t RenderText(const SeriesPlan& plan, const Grid* grid, std::span<const Value> slots,
                  std::string& out) {
  const Numbers numbers = NumbersFor(plan, grid, slots);
  size_t count = 0;
  for (const SeriesPlan::FamilyLines& family : plan.families()) {
    count += AppendFamilyLines(plan, family, {family.text_header}, numbers, out);
  }
  return count;
}

}  // namespace podgpu
