#include "fields/base_units.h"

#include <algorithm>
#include <array>

namespace podgpu {
namespace {

struct Factor {
  int64_t factor, divisor;
  bool is_whole;
};
constexpr Factor kMib = {int64_t{1} << 20, 1, true};  // MiB to bytes.
constexpr Factor kMega = {1'000'000, 1, true};        // MHz to Hz, MB to bytes.
constexpr Factor kMilli = {1, 1'000, true};           // mJ to whole joules.
constexpr Factor kMillis = {1, 1'000, false};         // ms to seconds.
constexpr Factor kNano = {1, 1'000'000'000, false};   // ns to seconds.
constexpr Factor kPercent = {1, 100, false};          // Percent to ratio.
// The old fields are KiB divided by 1,000, which the vendor calls MB; the new ones are bytes.
constexpr Factor kNvlink = {1'024'000, 1, true};

constexpr BaseUnit Row(uint16_t id, uint16_t old_id, const Factor& factor) {
  return {id, old_id, factor.factor, factor.divisor, factor.is_whole};
}

// clang-format off
constexpr std::array kRows = {
    Row(1600, 90, kMib),
    Row(1601, 92, kMib),
    Row(1602, 93, kMib),
    Row(1603, 100, kMega),
    Row(1604, 101, kMega),
    Row(1605, 102, kMega),
    Row(1606, 110, kMega),
    Row(1607, 111, kMega),
    Row(1608, 113, kMega),
    Row(1609, 114, kMega),
    Row(1610, 115, kMega),
    Row(1611, 156, kMilli),
    Row(1612, 191, kPercent),
    Row(1613, 203, kPercent),
    Row(1614, 204, kPercent),
    Row(1615, 206, kPercent),
    Row(1616, 207, kPercent),
    Row(1617, 240, kNano),
    Row(1618, 241, kNano),
    Row(1619, 242, kNano),
    Row(1620, 243, kNano),
    Row(1621, 244, kNano),
    Row(1622, 245, kNano),
    Row(1623, 246, kNano),
    Row(1624, 247, kNano),
    Row(1625, 250, kMib),
    Row(1626, 251, kMib),
    Row(1627, 252, kMib),
    Row(1628, 253, kMib),
    Row(1629, 287, kMega),
    Row(1630, 440, kNvlink),
    Row(1631, 441, kNvlink),
    Row(1632, 442, kNvlink),
    Row(1633, 443, kNvlink),
    Row(1634, 444, kNvlink),
    Row(1635, 445, kNvlink),
    Row(1636, 475, kNvlink),
    Row(1637, 476, kNvlink),
    Row(1638, 477, kNvlink),
    Row(1639, 478, kNvlink),
    Row(1640, 479, kNvlink),
    Row(1641, 480, kNvlink),
    Row(1642, 446, kNvlink),
    Row(1643, 447, kNvlink),
    Row(1644, 448, kNvlink),
    Row(1645, 494, kNvlink),
    Row(1646, 495, kNvlink),
    Row(1647, 496, kNvlink),
    Row(1648, 449, kNvlink),
    Row(1649, 525, kMib),
    Row(1650, 582, kMillis),
};
// clang-format on

}  // namespace

std::span<const BaseUnit> BaseUnits() { return kRows; }

const BaseUnit* BaseUnitOf(uint16_t id) {
  const auto* const found = std::ranges::lower_bound(kRows, id, {}, &BaseUnit::id);
  return found != kRows.end() && found->id == id ? found : nullptr;
}

}  // namespace podgpu
