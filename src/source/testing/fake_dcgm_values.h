// Raw values and field descriptions, as libdcgm makes them, for the fake engine
// (fake_dcgm_table.h).
//
// Types and levels come from our catalogue, which is the vendor's table by another road.  Test
// support; pure but for a table made once.
#pragma once

#include <algorithm>
#include <cstring>
#include <string_view>

#include "abi/dcgm.h"

namespace podgpu {

// Copies `text`, cut to fit, with its end.
template <size_t kSize>
void PutText(char (&buffer)[kSize], std::string_view text) {
  const size_t length = std::min(text.size(), kSize - 1);
  std::memcpy(buffer, text.data(), length);
  buffer[length] = '\0';
}

// What the library says of `field`, or null.
const abi::dcgm_field_meta_t* FindDcgmMeta(uint16_t field);

// An empty value of `field` on an entity: type set, status 0, no time stamp.
abi::dcgmFieldValue_v2 MakeRawValue(int group, uint32_t entity, uint16_t field);

// Puts the blank of its type into `raw`.
void PutBlank(abi::dcgmFieldValue_v2& raw);

}  // namespace podgpu
