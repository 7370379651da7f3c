// The fields that this generation of libdcgm knows, and their descriptions.
//
// podgpu's catalogue has the fields of every release; a library knows those of its release.  The
// structs that DcgmFieldGetById returns are made once and live as long as the process, which is
// longer than the vendor's.  Part of the face: standard library only.  Immutable; any thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "abi/dcgm.h"
#include "fields/field.h"

namespace podgpu::sim {

inline constexpr int64_t kMib = 1 << 20;
// The board's host: 32 cores, all near every GPU, and one memory node (fields 70 to 73).
inline constexpr int64_t kNearCores = 0xffffffff;

// Copies a text into an array of a vendor's struct, with its terminating zero; a text that is too
// long is cut.
template <size_t kSize>
void CopyText(char (&to)[kSize], std::string_view from) {
  const size_t length = std::min(from.size(), kSize - 1);
  std::memcpy(to, from.data(), length);
  to[length] = '\0';
}

// Event fields: their values come from the schedule of faults.
inline constexpr uint16_t kBindField = 6;

// The catalogue's row, or null when this library's release lacks the field.
const Field* FieldOfLibrary(uint16_t id);

// DCGM's letter for the type of a field of this library.
int FieldTypeLetter(const Field& field);

// The result of DcgmFieldGetById; null for an unknown field.
const abi::dcgm_field_meta_t* FieldMeta(uint16_t id);

}  // namespace podgpu::sim
