#include "source/open_source.h"

#include <utility>

#include "abi/load.h"
#include "source/dcgm_source.h"

namespace podgpu {

StatusOr<std::unique_ptr<Source>> OpenDcgmSource(const SourceOptions& options,
                                                 LibraryLoader& loader, Clock& clock) {
  DcgmEndpoint endpoint;
  if (!options.address.empty()) {
    PODGPU_ASSIGN_OR_RETURN(endpoint, ParseDcgmAddress(options.address));
  }
  PODGPU_ASSIGN_OR_RETURN(abi::DcgmLibrary library, abi::LoadDcgm(loader, options.dcgm_library));
  NvmlIdentity nvml([&loader, path = options.nvml_library] { return abi::LoadNvml(loader, path); });
  return std::make_unique<DcgmSource>(std::move(library), std::move(endpoint),
                                      options.connect_timeout, std::move(nvml), clock);
}

}  // namespace podgpu
