#include "source/open_source.h"

#include <utility>

#include "abi/load.h"
#include "base/log.h"
#include "source/auto_source.h"
#include "source/dcgm/source.h"
#include "source/nvml/source.h"

namespace podgpu {
namespace {

// Returns whether the engine is on this machine but is reached over TCP.
bool IsLocalOverTcp(const DcgmEndpoint& endpoint) {
  return endpoint.kind == DcgmEndpoint::Kind::kTcp && OtherHostOf(endpoint.address).empty();
}

// A request over TCP waits 44 ms for a delayed acknowledgement in the vendor's client, over a unix
// socket 2 ms (DCGM 4.6.0, measured).
void AdviseSocket(const DcgmEndpoint& endpoint) {
  if (IsLocalOverTcp(endpoint)) {
    Log(LogLevel::kInfo,
        "the host engine on this machine is read over TCP, which takes 44 ms a request in NVIDIA's "
        "client; over a unix socket it takes 2 ms. Start it with nv-hostengine --domain-socket "
        "PATH and give -r unix://PATH",
        {{"address", endpoint.address}});
  }
}

}  // namespace

StatusOr<std::unique_ptr<Source>> OpenDcgmSource(const SourceOptions& options,
                                                 LibraryLoader& loader, Clock& clock,
                                                 const ThreadTally& written_off) {
  DcgmEndpoint endpoint;
  if (!options.address.empty()) {
    PODGPU_ASSIGN_OR_RETURN(endpoint, ParseDcgmAddress(options.address));
  }
  PODGPU_ASSIGN_OR_RETURN(abi::DcgmLibrary library, abi::LoadDcgm(loader, options.dcgm_library));
  AdviseSocket(endpoint);
  NvmlIdentity nvml([&loader, path = options.nvml_library] { return abi::LoadNvml(loader, path); },
                    written_off);
  DcgmSourceOptions dcgm{.endpoint = std::move(endpoint),
                         .connect_timeout = options.connect_timeout,
                         .stale_after = options.stale_after,
                         .util_ratio_is_percent_of_4_6 = options.util_ratio_is_percent_of_4_6,
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
          .sysfs = options.sysfs, .stale_after = options.stale_after, .written_off = written_off},
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
  const bool names_dcgm = !options.address.empty() || !options.dcgm_library.empty();
  if (options.kind == SourceKind::kDcgm ||
      (options.kind == SourceKind::kAuto && names_dcgm && !MayStandIn(options))) {
    return OpenDcgmSource(options, loader, clock, written_off);
  }
  if (options.kind == SourceKind::kNvml) {
    return OpenNvmlSource(options, loader, clock, written_off);
  }
  AutoSource::Makers makers;
  makers.nvml = [=, &loader, &clock] {
    return OpenNvmlSource(options, loader, clock, written_off);
  };
  makers.dcgm = [=, &loader, &clock] {
    return OpenDcgmSource(options, loader, clock, written_off);
  };
  return std::make_unique<AutoSource>(std::move(makers), options.fields, options.asked,
                                      options.address);
}

bool MayStandIn(const SourceOptions& options) {
  return options.kind == SourceKind::kAuto && !options.address.empty() &&
         options.rows_are_of_this_node;
}

NoDriver ExplainNoDriver(const SourceOptions& options) {
  if (!options.address.empty()) {
    return {};
  }
  NoDriver told = ExplainNoDriver(*options.sysfs, SystemFiles("/dev"));
  told.library_is_named = !options.dcgm_library.empty() || !options.nvml_library.empty();
  return told;
}

}  // namespace podgpu
