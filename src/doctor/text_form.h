// The result of the doctor as text for people.
//
// ASCII only; no line is longer than `width` columns.  Quiet sections fold
// to one line as soon as another section has something to say.  Pure functions.
#pragma once

#include <cstddef>
#include <string>

#include "doctor/finding.h"

namespace podgpu {

struct TextForm {
  size_t width = 100;
  bool verbose = false;  // Unfolds, and adds the evidence.
  bool colour = false;   // The status word has a colour.
};

std::string AsText(const DoctorResult& result, const TextForm& form);

}  // namespace podgpu
