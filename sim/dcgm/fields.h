// The fields that this generation of libdcgm knows, and what it tells of them.
//
// podgpu's catalogue holds the fields of every release; a library knows those that its release had.
// The structs that DcgmFieldGetById hands out are made once and live as long as the process, which
// is longer than the vendor's.  Part of the face: standard library only.  Immutable; any thread.
#pragma once

#include <cstdint>

#include "abi/dcgm.h"
#include "fields/field.h"

namespace podgpu::sim {

// Fields of events: what is new of them comes from the schedule of faults.
inline constexpr uint16_t kBindField = 6;

// The catalogue's row, or null when this library's release does not have the field.
const Field* FieldOfLibrary(uint16_t id);

// DCGM's letter for the type of a field of this library.
int FieldTypeLetter(const Field& field);

// As DcgmFieldGetById and DcgmFieldGetByTag answer; null for an unknown one.
const abi::dcgm_field_meta_t* FieldMeta(uint16_t id);
const abi::dcgm_field_meta_t* FieldMetaByTag(const char* tag);

// As DcgmFieldsGetEntityGroupString answers.
const char* EntityGroupName(abi::dcgm_field_entity_group_t group);

}  // namespace podgpu::sim
