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
    "not read yet",
    "the device or the driver does not support it",
    "the driver does not permit this process to read it",
    "the driver knows the field but not the device or part",
    "watched, but no sample yet",
    "the engine does not sample it",
    "the driver answered blank without a reason",
    "the driver returned an impossible value",
    "the last sample is too old",
    "the GPU is gone",
    "the engine or library does not answer",
    "the vendor sent another type than its table promises",
    "a per-pod value needs the processes, which are not read",
    "this source does not provide it",
    "another program uses the profiling counters",
    "profiling is paused on request",
    "the device is suspended, and reading would wake it",
    "the engine would return the values of another GPU"};

}  // namespace

std::string_view AbsenceName(Absence absence) {
  return kAbsenceNames[static_cast<size_t>(absence)];
}

std::string_view AbsenceMeaning(Absence absence) {
  return kAbsenceMeanings[static_cast<size_t>(absence)];
}

}  // namespace podgpu
