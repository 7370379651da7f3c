// Reads DCGM's health watches of each GPU, and whether one GPU can reach another over NVLink.
//
// Done only when the grid asks for it.  The watches are set once per connection and set of GPUs,
// and checked at each reading; the engine judges the samples since then.  An impossible answer
// counts as none.  The answer's buffer (1 MB with 4.x) is allocated at the first use.  Used on the
// source thread only.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "abi/load.h"
#include "base/status.h"
#include "sample/grid.h"

namespace podgpu {

class DcgmHealth {
 public:
  // Borrows `library`, which outlives this.
  explicit DcgmHealth(const abi::DcgmLibrary& library) : library_(library) {}

  // Fills the health and the peers of `grid`'s findings if they are asked for.  What the engine
  // does not report stays empty, and the note says why.  Returns a failure only for a lost
  // connection.
  Status Read(abi::dcgmHandle_t handle, Grid& grid);

  // Called when the connection is gone, and the group with it.
  void Forget();

  // Called when the engine may have removed GPUs from the group: it is made again at the next Read.
  void Renew() { watched_.clear(); }

 private:
  // The part of dcgmHealthResponse that is needed; its layout differs by version.
  struct Answer {
    std::span<const abi::dcgmIncidentInfo_t> incidents;
  };

  Status ReadHealth(abi::dcgmHandle_t handle, Grid& grid);
  HealthVerdict VerdictOf(const abi::dcgmIncidentInfo_t& incident) const;
  Status ReadPeers(abi::dcgmHandle_t handle, Grid& grid);
  Status Watch(abi::dcgmHandle_t handle, const Topology& topology);
  Status Check(abi::dcgmHandle_t handle, Answer& answer);
  template <typename Response>
  Status CheckAs(abi::dcgmHandle_t handle, uint32_t version, std::unique_ptr<Response>& response,
                 Answer& answer);
  // Logs `status` when it changes, also to success.  Returns a lost connection as a failure; any
  // other failure only leaves the rows out.
  Status LogChange(const char* what, const Status& status, std::string& last);
  void MakeNote();

  const abi::DcgmLibrary& library_;
  std::optional<abi::dcgmGpuGrp_t> group_;
  std::vector<uint32_t> watched_;  // Ids of the GPUs in the group, ascending.
  std::vector<uint32_t> wanted_;
  std::unique_ptr<abi::dcgmHealthResponse_v4> response_3_;
  std::unique_ptr<abi::dcgmHealthResponse_v5> response_4_;
  std::string health_failure_;  // The failure that was logged last; empty: health is reported.
  std::string peers_failure_;
  bool has_no_links_ = false;
  bool note_is_old_ = false;
  std::shared_ptr<const FindingsNote> note_;
};

}  // namespace podgpu
