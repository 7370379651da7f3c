// From the vendor's raw value to a Value: the only place that knows sentinels, statuses and
// fixed-size texts.
//
// DCGM says "no value" in three ways: a status beside the value, a number or text that stands for
// none (a blank), and a time stamp that stops.  The first two end here as an Absence; the age of
// the sample goes along with the value, and who serves it judges it.  Also garbage ends here:
// another type than the library's own table promises, numbers that the quantity cannot have, texts
// without an end.  Called by the source thread for every cell; allocates only for a new text.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "abi/dcgm.h"
#include "base/clock.h"
#include "fields/field.h"
#include "sample/grid.h"
#include "sample/value.h"

namespace podgpu {

// How the values of one field are to be read; made once per watch.
struct FieldDecoder {
  static constexpr int64_t kAnyNumber = std::numeric_limits<int64_t>::min();

  char vendor_type = 0;  // DCGM_FT_* that the library promises.
  // The least that the quantity can be: 0 for power, energy, memory, clocks and rates.
  int64_t lowest = kAnyNumber;
};

// For `field` as the loaded library describes it (`vendor_type`: one type changed over releases).
FieldDecoder DecoderFor(const Field& field, char vendor_type);

// The value of one cell, read at `now`.  Texts go into the pool of `grid`.
Value DecodeDcgm(const FieldDecoder& decoder, const abi::dcgmFieldValue_v2& raw, WallTime now,
                 Grid& grid);

// What a status of DCGM other than 0 means for a cell.
Absence AbsenceOfDcgmStatus(abi::dcgmReturn_t status);

// The text in a buffer of `size` bytes, as valid UTF-8; nothing for a blank text or one without an
// end.
std::optional<std::string> DecodeText(const char* buffer, size_t size);

}  // namespace podgpu
