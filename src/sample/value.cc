#include "sample/value.h"

#include <array>
#include <cstddef>

namespace podgpu {
namespace {

constexpr std::array<std::string_view, kAbsenceCount> kAbsenceNames = {
    "not_read",    "not_supported", "not_permitted", "not_found", "no_data",
    "not_watched", "blank",         "out_of_range",  "stale",     "device_lost",
    "source_down", "wrong_type",    "no_processes"};

}  // namespace

std::string_view AbsenceName(Absence absence) {
  return kAbsenceNames[static_cast<size_t>(absence)];
}

}  // namespace podgpu
