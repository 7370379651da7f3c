// The fields that the doctor reads besides the requested fields.
//
// They are rows of the catalogue; the constants are found by name once. Any thread.
#pragma once

#include <vector>

#include "fields/field.h"

namespace podgpu::doctor_fields {

const Field* Profiling();         // One field that needs the profiling counters.
const Field* Utilization();       // Utilization of the GPU, in percent.
const Field* Energy();            // The energy counter.
const Field* EccUncorrectable();  // Uncorrectable ECC errors since the driver was loaded.
const Field* RemapPending();
const Field* RemapFailed();
const Field* RecoveryAction();

// Returns all of these fields, ascending by id.
std::vector<const Field*> All();

}  // namespace podgpu::doctor_fields
