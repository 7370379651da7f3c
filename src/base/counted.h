// A number with its noun, singular or plural, for sentences that people read.
//
// English alone: a noun that ends with "s" gets "es", any other gets "s".  Pure; allocates only the
// text that it returns.  Any thread.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace podgpu {

// Returns for example "1 GPU" or "8 GPUs".
std::string Counted(size_t count, std::string_view noun);

}  // namespace podgpu
