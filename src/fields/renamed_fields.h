// The names that dcgm-exporter 4.9 gives to the metrics of its default list.
//
// Eleven of them also change their unit; the others are the same field under the newer of its
// names.  Immutable; any thread.
#pragma once

#include <span>
#include <string_view>

namespace podgpu {

struct RenamedField {
  std::string_view old_name;  // Up to 4.8.4.
  std::string_view new_name;  // In 4.9.
};

std::span<const RenamedField> RenamedFields();

// Returns the old name of a new one, and the new one of an old; empty if it was not renamed.
std::string_view OtherNameOf(std::string_view name);

}  // namespace podgpu
