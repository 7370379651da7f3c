// A message of one of the rooms in its two parts: what is wrong, and what to do about it.
//
// Messages of failures end with a sentence that tells the remedy.  Some surfaces show the remedy in
// a place of its own: the doctor on the line "do:", the log as an attribute.  Pure; any thread.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"

namespace podgpu {

// Both parts fit into the middle of a line: they end without a full stop, and the remedy begins
// with a small letter.
struct FactAndRemedy {
  std::string fact, remedy;
};
// Splits the message of `status`; `otherwise` is the remedy of a message that has none.
FactAndRemedy Parted(const Status& status, std::string_view otherwise);

}  // namespace podgpu
