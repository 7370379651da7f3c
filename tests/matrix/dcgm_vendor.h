// DCGM as a set of rows of the fault matrix, over the fake engine of the source's own tests.
//
// The symbols are those of abi/dcgm_table.h.  Every sample of the fake tells when it was taken: its
// value follows the clock, so that a page shows which reading it comes from.
#pragma once

#include "tests/matrix/vendor.h"

namespace podgpu {

Vendor DcgmVendor();

}  // namespace podgpu
