// DCGM's return codes as statuses, with the vendor's own words.
//
// One table maps codes to canonical statuses.  kUnavailable means that the connection or what was
// built on it (groups, watches) is gone: LostConnection (source.h) recognises it, and the caller
// begins again.  Pure but for the vendor's errorString, which returns static text.
#pragma once

#include <string>
#include <string_view>

#include "abi/dcgm_table.h"
#include "base/status.h"

namespace podgpu {

// "DCGM -21: Host engine connection invalid/disconnected", or without words for an unknown code.
std::string DcgmWords(const abi::DcgmTable& api, abi::dcgmReturn_t code);

// OK for 0; else "<what> (DCGM -21: ...)" followed by ". <remedy>" when there is one.
Status DcgmStatus(const abi::DcgmTable& api, abi::dcgmReturn_t code, std::string_view what,
                  std::string_view remedy = "");

}  // namespace podgpu
