#include "source/open_source.h"

#include <utility>

#include "abi/load.h"
#include "source/chosen_source.h"
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
                         .pid_energy = options.pid_energy,
                         .written_off = written_off};
  return std::make_unique<DcgmSource>(std::move(library), std::move(dcgm), std::move(nvml), clock);
}

StatusOr<std::unique_ptr<NvmlSource>> OpenNvmlSource(const SourceOptions& options,
                                                     LibraryLoader& loader, Clock& clock,
                                                     const ThreadTally& written_off) {
  PODGPU_ASSIGN_OR_RETURN(abi::NvmlLibrary library, abi::LoadNvml(loader, options.nvml_library));
  return std::make_unique<NvmlSource>(
      std::move(library),
      NvmlSourceOptions{
          .sysfs = options.sysfs, .mute_after = options.mute_after, .written_off = written_off},
      clock);
}

StatusOr<std::unique_ptr<NvmlProcesses>> OpenProcesses(const SourceOptions& options,
                                                       LibraryLoader& loader, const Files& files,
                                                       const Clock& clock,
                                                       const ThreadTally& written_off) {
  PODGPU_ASSIGN_OR_RETURN(abi::NvmlLibrary library, abi::LoadNvml(loader, options.nvml_library));
  return std::make_unique<NvmlProcesses>(
      std::move(library),
      NvmlProcessesOptions{.proc_root = options.proc_root,
                           .sysfs = options.sysfs,
                           .enable_accounting = options.enable_accounting,
                           .written_off = written_off},
      files, clock);
}

StatusOr<std::unique_ptr<Source>> OpenSource(const SourceOptions& options, LibraryLoader& loader,
                                             Clock& clock, const ThreadTally& written_off) {
  const bool names_dcgm =
      !options.address.empty() || !options.dcgm_library.empty() || options.pid_energy != nullptr;
  if (options.kind == SourceKind::kDcgm || (options.kind == SourceKind::kAuto && names_dcgm)) {
    return OpenDcgmSource(options, loader, clock, written_off);
  }
  if (options.kind == SourceKind::kNvml) {
    return OpenNvmlSource(options, loader, clock, written_off);
  }
  ChosenSource::Makers makers;
  makers.nvml = [=, &loader, &clock] {
    return OpenNvmlSource(options, loader, clock, written_off);
  };
  makers.dcgm = [=, &loader, &clock] {
    return OpenDcgmSource(options, loader, clock, written_off);
  };
  return std::make_unique<ChosenSource>(std::move(makers), options.fields, options.asked);
}

}  // namespace podgpu
