// The bundle of authorities in an APIService object, to which every replica adds its own.
//
// Expired authorities are dropped, and those that cannot be parsed. At most eight stay; only above
// that limit is a valid one of another replica dropped, the one that expires first. Pure function;
// any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace podgpu {

inline constexpr size_t kMostAuthorities = 8;

// Returns `bundle` with every one of `own`, at most two, in PEM; the same text if nothing has to
// change. kInvalidArgument if one of `own` is not a certificate.
StatusOr<std::string> MergeAuthorities(const std::string& bundle,
                                       const std::vector<std::string>& own, int64_t now_s);

}  // namespace podgpu
