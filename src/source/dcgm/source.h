// Device facts from DCGM, completed by the few that only NVML has.
//
// Combines the connection, the discovery, the watches and the reader.  One rule holds for all of
// them: when a call says that the connection is gone, or there was no fresh sample for too long
// (stale_detector.h), all handles and ids are dropped at once, and the next Discover connects
// again.  Threads: as source.h says.
#pragma once

#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "abi/load.h"
#include "base/clock.h"
#include "source/dcgm/connection.h"
#include "source/dcgm/discovery.h"
#include "source/dcgm/events.h"
#include "source/dcgm/health.h"
#include "source/dcgm/parts.h"
#include "source/dcgm/reader.h"
#include "source/dcgm/watches.h"
#include "source/nvml/identity.h"
#include "source/source.h"
#include "source/stale_detector.h"

namespace podgpu {

struct DcgmSourceOptions {
  DcgmEndpoint endpoint;
  std::chrono::milliseconds connect_timeout{5000};
  std::chrono::milliseconds stale_after{5000};  // Limit without a fresh sample; then it reconnects.
  // With an engine of DCGM 4.6, DCGM_FI_DEV_GPU_UTIL_RATIO is a percentage, as its name meant
  // there.
  bool util_ratio_is_percent_of_4_6 = false;
  ThreadTally written_off = NewThreadTally();  // Counts threads that hang in a call.
};

class DcgmSource final : public Source {
 public:
  // Borrows `clock`, which outlives the source.
  DcgmSource(abi::DcgmLibrary library, DcgmSourceOptions options, NvmlIdentity nvml, Clock& clock);

  StatusOr<Topology> Discover(PartKinds kinds) override;
  StatusOr<WatchResult> Watch(const Topology& topology, const std::vector<const Field*>& fields,
                              std::chrono::microseconds period) override;
  Status Read(Grid& grid) override;
  void Interrupt() noexcept override {
    if (!nvml_.GiveUp()) {
      connection_.Interrupt();
    }
  }
  void Release() override;
  void SetProfiling(bool is_on) override { watches_.SetProfiling(is_on); }
  void SetCollections(std::shared_ptr<const FieldCollections> collections) override;
  std::string Describe() const override { return connection_.Describe(); }

 private:
  // One kind of part; watched and read separately from everything else.
  struct WatchedPart {
    WatchedPart(const abi::DcgmLibrary& library, const Clock& clock, PartKind part,
                bool is_embedded)
        : kind(part), watches(library, clock, part), reader(library, is_embedded) {}
    const PartKind kind;
    DcgmWatches watches;
    DcgmReader reader;
    std::string failure;  // Why the last read failed; empty: it succeeded.
  };

  StatusOr<Topology> ReadTopology(PartKinds kinds);
  Status WatchParts(const Topology& topology, const std::vector<const Field*>& fields,
                    std::chrono::microseconds period, WatchResult& result);
  Status ReadParts(Grid& grid);
  // Says that GPU_UTIL_RATIO is a percentage, if it is asked for and is one.
  void NoteUtilRatio(const std::vector<const Field*>& fields, WatchResult& result);
  void RenewGroups();
  void ForgetWatches();
  Status DisconnectIfStale(const Grid& grid);
  // Drops handles and ids when `status` is a lost connection.  Returns `status` with the engine's
  // name in front of the message.
  Status CheckConnection(const Status& status);

  const abi::DcgmLibrary library_;
  Clock& clock_;
  DcgmConnection connection_;
  DcgmDiscovery discovery_;
  DcgmParts parts_;
  DcgmWatches watches_;
  DcgmEvents events_;
  DcgmReader reader_;
  DcgmHealth health_;
  std::array<WatchedPart, kPartKindCount> part_watches_;
  Topology watched_topology_;  // Argument of the last Watch.
  NvmlIdentity nvml_;
  const std::chrono::milliseconds stale_after_;
  const bool util_ratio_is_percent_of_4_6_;
  bool util_ratio_is_percent_ = false;
  bool has_told_util_ratio_ = false;
  StaleDetector empty_;        // The embedded engine lists nothing at all.
  StaleDetector without_gpu_;  // It lists CPUs but no GPU.
  StaleDetector misread_;      // It confuses MIG instances with instances of another GPU.
  StaleDetector stale_;        // No device has a fresh sample.
};

}  // namespace podgpu
