// Finds the vendor libraries at run time and resolves their symbols.
//
// A library is opened by an explicit path if one is given; otherwise by soname, newest first,
// through the dynamic linker's search and then in the directories of NVIDIA's packages and
// containers (LibraryDirectories). All symbols are resolved before any is called. A library without
// a core symbol is refused with one error that names all missing ones. A capability that lacks any
// symbol is off: its pointers are null and `off` has one line about it. Only NVML's readings may be
// missing one by one. A library is never closed. Any thread; takes a few milliseconds, so call it
// once.
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

// The generation of structs that a libdcgm accepts, where 3.x and 4.x differ.
enum class DcgmGeneration : uint8_t { k3 = 3, k4 = 4 };

// A loaded libdcgm.
struct DcgmLibrary {
  DcgmTable api;
  DcgmGeneration generation = DcgmGeneration::k4;
  std::string name;              // The name that was opened: a path, or a bare soname.
  std::vector<std::string> off;  // One line per capability that is off.
  std::array<bool, kDcgmCapabilityCount> has{};

  bool Has(DcgmCapability capability) const { return has[static_cast<size_t>(capability)]; }
  // Maximum number of entities in a group and in one call.
  size_t MaxEntities() const {
    return static_cast<size_t>(generation == DcgmGeneration::k3 ? DCGM_GROUP_MAX_ENTITIES_V1
                                                                : DCGM_GROUP_MAX_ENTITIES_V2);
  }
};

// A loaded libnvidia-ml.
struct NvmlLibrary {
  NvmlTable api;
  std::string name;
  std::vector<std::string> off;
  std::array<bool, kNvmlCapabilityCount> has{};

  bool Has(NvmlCapability capability) const { return has[static_cast<size_t>(capability)]; }
};

// The directories that are searched after the dynamic linker's own search.
std::span<const std::string_view> LibraryDirectories();

// Opens `path`; if empty, libdcgm.so.4, then libdcgm.so.3. Errors: kNotFound with all tried paths
// and a remedy; kFailedPrecondition when it is not a libdcgm of 3.0 or later.
StatusOr<DcgmLibrary> LoadDcgm(LibraryLoader& loader, const std::string& path);

// Opens `path`; if empty, libnvidia-ml.so.1. Errors as in LoadDcgm.
StatusOr<NvmlLibrary> LoadNvml(LibraryLoader& loader, const std::string& path);

}  // namespace podgpu::abi
