#include "sample/value.h"

#include <array>
#include <cstddef>

namespace podgpu {
namespace {

constexpr std::array<std::string_view, kAbsenceCount> kAbsenceNames = {"not_read",
                                                                       "not_supported",
                                                                       "not_permitted",
                                                                       "not_found",
                                                                       "no_data",
                                                                       "not_watched",
                                                                       "blank",
                                                                       "out_of_range",
                                                                       "stale",
                                                                       "device_lost",
                                                                       "source_down",
                                                                       "wrong_type",
                                                                       "no_processes",
                                                                       "not_in_source",
                                                                       "profiling_taken",
                                                                       "profiling_paused",
                                                                       "device_suspended",
                                                                       "another_gpu"};

constexpr std::array<std::string_view, kAbsenceCount> kAbsenceMeanings = {
    "nobody has asked for it yet",
    "the device or the driver does not have it",
    "the driver refuses it to this process",
    "the driver knows the field but not the thing",
    "watched, and nothing has been sampled yet",
    "the engine does not sample it",
    "the driver answers blank without a reason",
    "a number that it cannot have",
    "the last sample is too old",
    "the GPU is gone",
    "the engine or library does not answer",
    "the vendor sent another type than its table promises",
    "the number of one pod on a shared device, and its processes are not looked at",
    "this source cannot give it",
    "another program holds the profiling counters",
    "profiling is paused on request",
    "the device sleeps, and asking would wake it",
    "the engine would answer with the values of another GPU"};

}  // namespace

std::string_view AbsenceName(Absence absence) {
  return kAbsenceNames[static_cast<size_t>(absence)];
}

std::string_view AbsenceMeaning(Absence absence) {
  return kAbsenceMeanings[static_cast<size_t>(absence)];
}

}  // namespace podgpu
