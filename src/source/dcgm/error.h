// Converts DCGM's return codes to statuses, with the vendor's error text.
//
// One table maps codes to canonical statuses. kUnavailable means that the connection, or a group or
// watch of it, is gone: LostConnection (source.h) is true, and the caller begins again.  Pure,
// except for the vendor's errorString, which returns static text.
#pragma once

#include <string>
#include <string_view>

#include "abi/dcgm_table.h"
#include "base/status.h"

namespace podgpu {

// Returns for example "DCGM -21: Host engine connection invalid/disconnected"; only the number for
// an unknown code.
std::string DcgmWords(const abi::DcgmTable& api, abi::dcgmReturn_t code);

// Returns OK for 0; else "<what> (DCGM -21: ...)", followed by ". <remedy>" if there is one.
Status DcgmStatus(const abi::DcgmTable& api, abi::dcgmReturn_t code, std::string_view what,
                  std::string_view remedy = "");

}  // namespace podgpu
