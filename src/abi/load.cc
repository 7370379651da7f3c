#include "abi/load.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_format.h"

namespace podgpu::abi {
namespace {

// Directories of Debian and Red Hat, the device plugin's mount, and both layouts of the GPU
// Operator's driver container.
constexpr std::array<std::string_view, 5> kDirectories = {
#if defined(__aarch64__)
    "/usr/lib/aarch64-linux-gnu",
    "/run/nvidia/driver/usr/lib/aarch64-linux-gnu",
#else
    "/usr/lib/x86_64-linux-gnu",
    "/run/nvidia/driver/usr/lib/x86_64-linux-gnu",
#endif
    "/usr/lib64",
    "/usr/local/nvidia/lib64",
    "/run/nvidia/driver/usr/lib64",
};

// One vendor symbol and its address.
struct Symbol {
  const char* name = nullptr;
  uint8_t capability = 0;  // 0 is the core of either library.
  void* address = nullptr;
};

// The features that are missing when a capability is off.
constexpr std::array<std::string_view, kDcgmCapabilityCount> kDcgmCapabilityNames = {
    "everything",
    "versions in messages",
    "MIG instances",
    "the list of profiling fields",
    "connection strings with a scheme",
    "NVLinks and switches",
    "paths between GPUs",
    "CPUs",
    "events between two readings",
    "health watches"};
constexpr std::array<std::string_view, kNvmlCapabilityCount> kNvmlCapabilityNames = {
    "everything", "MIG UUIDs", "the list of GPUs", "XIDs", "profiling fields", "some readings"};
// The capabilities of a library, for messages.
struct Capabilities {
  std::span<const std::string_view> names;
  std::string_view releases;                    // The releases that have the core.
  std::optional<uint8_t> alone = std::nullopt;  // Its symbols may be missing one by one.
};
constexpr Capabilities kDcgmCapabilities = {kDcgmCapabilityNames, "DCGM 3.0 or newer"};
constexpr Capabilities kNvmlCapabilities = {kNvmlCapabilityNames, "the NVIDIA driver R450 or newer",
                                            static_cast<uint8_t>(NvmlCapability::kReading)};

struct Opened {
  void* library = nullptr;
  std::string name;
};

// The library to open and the remedy when it is not found.
struct Wanted {
  std::string_view what;  // "libdcgm"
  std::span<const std::string_view> sonames;
  std::string_view remedy;
};

constexpr std::array<std::string_view, 2> kDcgmSonames = {"libdcgm.so.4", "libdcgm.so.3"};
constexpr std::array<std::string_view, 1> kNvmlSonames = {"libnvidia-ml.so.1"};
constexpr Wanted kDcgm = {
    "libdcgm", kDcgmSonames,
    "Install the package datacenter-gpu-manager-4-core, in Kubernetes run the image podgpu-dcgm or "
    "set dcgm.library.image of the chart, or name the file with --libdcgm"};
constexpr Wanted kNvml = {
    "libnvidia-ml", kNvmlSonames,
    "Install the NVIDIA driver, run the container with the NVIDIA runtime, or name the file with "
    "--libnvidia-ml"};

std::string Join(std::span<const std::string> parts, std::string_view separator) {
  std::string joined;
  for (const std::string& part : parts) {
    joined += joined.empty() ? "" : separator;
    joined += part;
  }
  return joined;
}

// Returns whether the linker's message says only that the file `name` does not exist.
bool SaysAbsent(std::string_view text, std::string_view name) {
  return text.starts_with(name) && text.find("No such file or directory") != std::string_view::npos;
}

StatusOr<Opened> OpenPath(LibraryLoader& loader, const Wanted& wanted, const std::string& path) {
  StatusOr<void*> library = loader.Open(path);
  if (library.ok()) {
    return Opened{*library, path};
  }
  return absl::NotFoundError(absl::StrFormat(
      "%s cannot be opened as %s: %s. Correct the path, or leave it out to have the usual %d "
      "places searched",
      path, wanted.what, library.status().message(), kDirectories.size() + 1));
}

StatusOr<Opened> OpenAny(LibraryLoader& loader, const Wanted& wanted) {
  std::vector<std::string> broken;  // They exist but cannot be opened, with the linker's message.
  for (const std::string_view soname : wanted.sonames) {
    for (size_t place = 0; place <= kDirectories.size(); ++place) {
      const std::string name = place == 0
                                   ? std::string(soname)
                                   : absl::StrFormat("%s/%s", kDirectories[place - 1], soname);
      StatusOr<void*> library = loader.Open(name);
      if (library.ok()) {
        return Opened{*library, name};
      }
      const std::string reason(library.status().message());
      if (!SaysAbsent(reason, name)) {
        broken.push_back(reason);
      }
    }
  }
  const std::string sonames =
      Join(std::vector<std::string>(wanted.sonames.begin(), wanted.sonames.end()), " or ");
  if (!broken.empty()) {
    return absl::NotFoundError(absl::StrFormat("%s exists but cannot be opened: %s. %s", sonames,
                                               Join(broken, "; "), wanted.remedy));
  }
  const std::vector<std::string> directories(kDirectories.begin(), kDirectories.end());
  return absl::NotFoundError(
      absl::StrFormat("%s is in none of %d paths (the linker's own search, %s). %s", sonames,
                      directories.size() + 1, Join(directories, ", "), wanted.remedy));
}

// Resolves all `symbols`, and sets `has` and `off` for each capability. A capability that lacks a
// symbol gets null addresses; symbols of `alone` are resolved one by one.
Status Resolve(LibraryLoader& loader, const Opened& opened, std::span<Symbol> symbols,
               const Capabilities& capabilities, std::span<bool> has,
               std::vector<std::string>& off) {
  std::vector<std::vector<std::string>> missing(has.size());
  for (Symbol& symbol : symbols) {
    symbol.address = loader.Symbol(opened.library, symbol.name);
    if (symbol.address == nullptr) {
      missing[symbol.capability].emplace_back(symbol.name);
    }
  }
  if (!missing[0].empty()) {
    return absl::FailedPreconditionError(
        absl::StrFormat("%s lacks %s: it is too old or another library. Install %s", opened.name,
                        Join(missing[0], ", "), capabilities.releases));
  }
  for (size_t capability = 0; capability < has.size(); ++capability) {
    has[capability] = missing[capability].empty();
    if (!has[capability]) {
      off.push_back(absl::StrFormat("%s: off, %s lacks %s", capabilities.names[capability],
                                    opened.name, Join(missing[capability], ", ")));
    }
  }
  for (Symbol& symbol : symbols) {
    const bool is_on = has[symbol.capability] || symbol.capability == capabilities.alone;
    symbol.address = is_on ? symbol.address : nullptr;
  }
  return absl::OkStatus();
}

// 4.0 renamed the function that registers policies: each name exists in one generation only. If a
// library has neither or both, its soname decides.
DcgmGeneration GenerationOf(LibraryLoader& loader, const Opened& opened) {
  const bool says4 = loader.Symbol(opened.library, "dcgmPolicyRegister_v2") != nullptr;
  const bool says3 = loader.Symbol(opened.library, "dcgmPolicyRegister") != nullptr;
  if (says3 == says4) {
    return opened.name.find(".so.3") != std::string::npos ? DcgmGeneration::k3 : DcgmGeneration::k4;
  }
  return says3 ? DcgmGeneration::k3 : DcgmGeneration::k4;
}

StatusOr<Opened> Open(LibraryLoader& loader, const Wanted& wanted, const std::string& path) {
  return path.empty() ? OpenAny(loader, wanted) : OpenPath(loader, wanted, path);
}

}  // namespace

std::span<const std::string_view> LibraryDirectories() { return kDirectories; }

StatusOr<DcgmLibrary> LoadDcgm(LibraryLoader& loader, const std::string& path) {
  PODGPU_ASSIGN_OR_RETURN(const Opened opened, Open(loader, kDcgm, path));
  DcgmLibrary library;
  library.name = opened.name;
#define X(result, symbol, capability, parameters) \
  Symbol{#symbol, static_cast<uint8_t>(DcgmCapability::capability)},
  std::array symbols = {PODGPU_DCGM_API(X)};
#undef X
  PODGPU_RETURN_IF_ERROR(
      Resolve(loader, opened, symbols, kDcgmCapabilities, library.has, library.off));
  const Symbol* next = symbols.data();
#define X(result, symbol, capability, parameters) \
  library.api.symbol = reinterpret_cast<decltype(library.api.symbol)>((next++)->address);
  PODGPU_DCGM_API(X)
#undef X
  library.generation = GenerationOf(loader, opened);
  return library;
}

StatusOr<NvmlLibrary> LoadNvml(LibraryLoader& loader, const std::string& path) {
  PODGPU_ASSIGN_OR_RETURN(const Opened opened, Open(loader, kNvml, path));
  NvmlLibrary library;
  library.name = opened.name;
#define X(result, symbol, capability, parameters) \
  Symbol{#symbol, static_cast<uint8_t>(NvmlCapability::capability)},
  std::array symbols = {PODGPU_NVML_API(X)};
#undef X
  PODGPU_RETURN_IF_ERROR(
      Resolve(loader, opened, symbols, kNvmlCapabilities, library.has, library.off));
  const Symbol* next = symbols.data();
#define X(result, symbol, capability, parameters) \
  library.api.symbol = reinterpret_cast<decltype(library.api.symbol)>((next++)->address);
  PODGPU_NVML_API(X)
#undef X
  return library;
}

}  // namespace podgpu::abi
