#include "source/open_source.h"

#include <utility>

#include "abi/load.h"
#include "source/dcgm_source.h"
#include "source/nvml_source.h"

namespace podgpu {

StatusOr<std::unique_ptr<Source>> OpenDcgmSource(const SourceOptions& options,
                                                 LibraryLoader& loader, Clock& clock,
                                                 const ThreadTally& written_off) {
  DcgmEndpoint endpoint;
  if (!options.address.empty()) {
    PODGPU_ASSIGN_OR_RETURN(endpoint, ParseDcgmAddress(options.address));
  }
  PODGPU_ASSIGN_OR_RETURN(abi::DcgmLibrary library, abi::LoadDcgm(loader, options.dcgm_library));
  NvmlIdentity nvml([&loader, path = options.nvml_library] { return abi::LoadNvml(loader, path); },
                    written_off);
  DcgmSourceOptions dcgm{.endpoint = std::move(endpoint),
                         .connect_timeout = options.connect_timeout,
                         .mute_after = options.mute_after,
                         .written_off = written_off};
  return std::make_unique<DcgmSource>(std::move(library), std::move(dcgm), std::move(nvml), clock);
}

StatusOr<std::unique_ptr<Source>> OpenNvmlSource(const SourceOptions& options,
                                                 LibraryLoader& loader, Clock& clock,
                                                 const ThreadTally& written_off) {
  PODGPU_ASSIGN_OR_RETURN(abi::NvmlLibrary library, abi::LoadNvml(loader, options.nvml_library));
  return std::make_unique<NvmlSource>(
      std::move(library),
      NvmlSourceOptions{.mute_after = options.mute_after, .written_off = written_off}, clock);
}

StatusOr<std::unique_ptr<Source>> OpenSource(const SourceOptions& options, LibraryLoader& loader,
                                             Clock& clock, const ThreadTally& written_off) {
  return options.kind == SourceKind::kNvml ? OpenNvmlSource(options, loader, clock, written_off)
                                           : OpenDcgmSource(options, loader, clock, written_off);
}

}  // namespace podgpu
