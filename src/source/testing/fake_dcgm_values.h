// Makes raw values and field descriptions like libdcgm's, for the fake engine (fake_dcgm_table.h).
//
// Types and levels come from the catalogue of fields/, which was made from the vendor's table.
// Test support; pure functions, except for a table that is made once.
#pragma once

#include <algorithm>
#include <cstring>
#include <string_view>

#include "abi/dcgm.h"

namespace podgpu {

// Copies `text`, truncated to fit, with a terminator.
template <size_t kSize>
void PutText(char (&buffer)[kSize], std::string_view text) {
  const size_t length = std::min(text.size(), kSize - 1);
  std::memcpy(buffer, text.data(), length);
  buffer[length] = '\0';
}

// Returns the library's description of `field`, or null.
const abi::dcgm_field_meta_t* FindDcgmMeta(uint16_t field);

// Returns an empty value of `field` on an entity: type set, status 0, no time stamp.
abi::dcgmFieldValue_v2 MakeRawValue(int group, uint32_t entity, uint16_t field);

// Writes the blank of its type into `raw`.
void PutBlank(abi::dcgmFieldValue_v2& raw);

}  // namespace podgpu
