// Device facts from DCGM, with the few that only NVML has.
//
// Puts together the connection, the discovery, the watches and the reader, and keeps the one rule
// between them: when a call says that the connection is gone, all handles and ids are given up at
// once and the next Discover connects anew.  Threads as source.h says.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "abi/load.h"
#include "base/clock.h"
#include "source/dcgm_connection.h"
#include "source/dcgm_discovery.h"
#include "source/dcgm_reader.h"
#include "source/dcgm_watches.h"
#include "source/nvml_identity.h"
#include "source/source.h"

namespace podgpu {

class DcgmSource final : public Source {
 public:
  // Borrows `clock`, which outlives the source.
  DcgmSource(abi::DcgmLibrary library, DcgmEndpoint endpoint,
             std::chrono::milliseconds connect_timeout, NvmlIdentity nvml, Clock& clock);

  StatusOr<Topology> Discover() override;
  StatusOr<WatchResult> Watch(const Topology& topology, const std::vector<const Field*>& fields,
                              std::chrono::microseconds period) override;
  Status Read(Grid& grid) override;
  void Interrupt() noexcept override { connection_.Interrupt(); }
  std::string Describe() const override { return connection_.Describe(); }

 private:
  StatusOr<Topology> Look();
  // Gives handles and ids up when `status` says that they are worth nothing; returns `status` with
  // the engine's name in front.
  Status Noticed(const Status& status);

  const abi::DcgmLibrary library_;
  Clock& clock_;
  DcgmConnection connection_;
  DcgmDiscovery discovery_;
  DcgmWatches watches_;
  DcgmReader reader_;
  NvmlIdentity nvml_;
};

}  // namespace podgpu
