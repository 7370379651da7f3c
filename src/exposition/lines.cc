#include "exposition/lines.h"

#include "base/status.h"
#include "exposition/number.h"

namespace podgpu {
namespace {

Value BitOf(const Value& value, uint8_t bit) {
  if (value.kind() != Value::Kind::kInt64) {
    return Value::OfAbsence(Absence::kWrongType);
  }
  return Value::OfInt64((value.int64() >> bit) & 1);
}

Value IsWord(const Value& value, uint8_t number) {
  if (value.kind() != Value::Kind::kInt64) {
    return Value::OfAbsence(Absence::kWrongType);
  }
  return Value::OfInt64(value.int64() == number ? 1 : 0);
}

Value ValueOf(const NumberSource& source, const Numbers& numbers) {
  switch (source.kind) {
    case NumberSource::Kind::kCell:
      return numbers.cells[source.index];
    case NumberSource::Kind::kSlot:
      return numbers.slots[source.index];
    case NumberSource::Kind::kBit:
      return BitOf(numbers.cells[source.index], source.bit);
    case NumberSource::Kind::kWord:
      return IsWord(numbers.cells[source.index], source.bit);
    case NumberSource::Kind::kOne:
      break;
  }
  return Value::OfInt64(1);
}

bool IsNumber(const Value& value) {
  return value.kind() == Value::Kind::kInt64 || value.kind() == Value::Kind::kDouble;
}

}  // namespace

Numbers NumbersFor(const SeriesPlan& plan, const Grid* grid, std::span<const Value> slots) {
  PODGPU_CHECK(plan.Fits(grid, slots));
  return {grid == nullptr ? std::span<const Value>() : std::span<const Value>(grid->cells()),
          slots};
}

size_t AppendFamilyLines(const SeriesPlan& plan, const SeriesPlan::FamilyLines& family,
                         std::string_view header, bool at_least_zero, const Numbers& numbers,
                         std::string& out) {
  size_t count = 0;
  for (const SeriesPlan::Series& series :
       std::span(plan.series()).subspan(family.first_series, family.series_count)) {
    const Value value = ValueOf(series.source, numbers);
    if (!IsNumber(value) || (at_least_zero && !(value.number() >= 0))) {
      continue;
    }
    if (count++ == 0) {
      out += header;
    }
    out += family.family.name;
    out += plan.label_blocks()[series.labels];
    AppendNumber(value, family.family.format, plan.scales()[series.scale], out);
    out += '\n';
  }
  return count;
}

}  // namespace podgpu
