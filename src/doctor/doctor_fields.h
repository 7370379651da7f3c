// The fields that the doctor reads, beside those that are asked for.
//
// They are rows of the catalogue; the constants are found by name once. Any thread.
#pragma once

#include <vector>

#include "fields/field.h"

namespace podgpu::doctor_fields {

const Field* Profiling();         // One field that needs the profiling counters.
const Field* Utilization();       // Of the GPU, in percent.
const Field* Energy();            // The counter.
const Field* EccUncorrectable();  // Since the driver was loaded.
const Field* RemapPending();
const Field* RemapFailed();
const Field* RecoveryAction();

// All of them, ascending by id.
std::vector<const Field*> All();

}  // namespace podgpu::doctor_fields
