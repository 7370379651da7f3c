// Decodes DCGM's raw values.  This is the only place that knows its sentinels, statuses and
// fixed-size texts.
//
// DCGM expresses "no value" in three ways: a status beside the value, a number or text that means
// none (a blank), and a time stamp that no longer advances.  The first two become an Absence here.
// For the third, the value carries its age, and the reader of the grid judges it.  Garbage becomes
// an Absence too: a type other than the library's own table promises, a number that the quantity
// cannot have, a text without a terminator.  Called on the source thread for every cell; allocates
// only for a new text.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "abi/dcgm.h"
#include "base/clock.h"
#include "fields/base_units.h"
#include "fields/field.h"
#include "sample/grid.h"
#include "sample/value.h"

namespace podgpu {

// The facts by which the values of one field are decoded; made once per watch.
struct FieldDecoder {
  static constexpr int64_t kAnyNumber = std::numeric_limits<int64_t>::min();

  char vendor_type = 0;  // DCGM_FT_* from the library's own table.
  // The lowest value that the quantity can have: 0 for power, energy, memory, clocks and rates.
  int64_t lowest = kAnyNumber;
};

// Returns the decoder of `field`. `vendor_type` is the type in the loaded library, because one type
// changed between releases.
FieldDecoder DecoderFor(const Field& field, char vendor_type);

// Decodes one cell that was read at `now`. Texts are interned in `grid`.
Value DecodeDcgm(const FieldDecoder& decoder, const abi::dcgmFieldValue_v2& raw, WallTime now,
                 Grid& grid);

// Returns the value of the new field, made from one of the old field: an absence stays as it is.  A
// number that does not fit is absent (kOutOfRange).
Value InBaseUnit(const BaseUnit& unit, const Value& value);

// Returns the absence that a DCGM status other than 0 means for a cell.
Absence AbsenceOfDcgmStatus(abi::dcgmReturn_t status);

// Returns the text in a buffer of `size` bytes as valid UTF-8; nothing for a blank text, or one
// without a terminator.
std::optional<std::string> DecodeText(const char* buffer, size_t size);

}  // namespace podgpu
