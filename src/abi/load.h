// Finding the vendor libraries at run time and resolving their symbols.
//
// A library is opened by an explicit path when one is given, else by soname, newest first, through
// the linker's own search and then in the directories where NVIDIA's packages and containers put it
// (LibraryDirectories).  All symbols are resolved before any is called.  A library that lacks a
// core symbol is refused with one error that names all of them; a capability that lacks any symbol
// is off as a whole, its pointers are null, and `off` says so in one line; NVML's readings alone
// are there or not one by one.  A library is never closed.  Any thread; costs a few milliseconds,
// so once per start.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "abi/dcgm_table.h"
#include "abi/nvml_table.h"
#include "base/library.h"
#include "base/status.h"

namespace podgpu::abi {

// Which structs a libdcgm understands where 3.x and 4.x differ.
enum class DcgmGeneration : uint8_t { k3 = 3, k4 = 4 };

// A libdcgm, ready to be called.
struct DcgmLibrary {
  DcgmTable api;
  DcgmGeneration generation = DcgmGeneration::k4;
  std::string name;              // As it was opened: a path, or a bare soname.
  std::vector<std::string> off;  // One line per capability that is off.
  std::array<bool, kDcgmCapabilityCount> has{};

  bool Has(DcgmCapability capability) const { return has[static_cast<size_t>(capability)]; }
  // How many entities a group takes, and how many one call can ask for.
  size_t MaxEntities() const {
    return static_cast<size_t>(generation == DcgmGeneration::k3 ? DCGM_GROUP_MAX_ENTITIES_V1
                                                                : DCGM_GROUP_MAX_ENTITIES_V2);
  }
};

// A libnvidia-ml, ready to be called.
struct NvmlLibrary {
  NvmlTable api;
  std::string name;
  std::vector<std::string> off;
  std::array<bool, kNvmlCapabilityCount> has{};

  bool Has(NvmlCapability capability) const { return has[static_cast<size_t>(capability)]; }
};

// Where libraries are looked for after the linker's own search.
std::span<const std::string_view> LibraryDirectories();

// Opens `path`, or when it is empty libdcgm.so.4, else libdcgm.so.3.  kNotFound with all that was
// tried and what helps; kFailedPrecondition when it is no libdcgm of 3.0 or later.
StatusOr<DcgmLibrary> LoadDcgm(LibraryLoader& loader, const std::string& path);

// Opens `path`, or when it is empty libnvidia-ml.so.1.  Errors as LoadDcgm.
StatusOr<NvmlLibrary> LoadNvml(LibraryLoader& loader, const std::string& path);

}  // namespace podgpu::abi
