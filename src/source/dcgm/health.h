// What DCGM's health watches say of each GPU, and whether one GPU reaches another over NVLink.
//
// Only where it is asked for.  The watches are set once for each connection and set of GPUs, and
// checked at each reading; the engine judges what it has sampled since.  An answer that cannot be
// one is none.  Memory for the answer, 1 MB with 4.x, is taken at the first question.  Source
// thread only.
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
  // does not tell stays empty, and the note says why; a lost connection is the Status.
  Status Read(abi::dcgmHandle_t handle, Grid& grid);

  // For when the connection is gone, and the group with it.
  void Forget();

 private:
  // One layout of dcgmHealthResponse, of which the incidents are what differs.
  struct Answer {
    std::span<const abi::dcgmIncidentInfo_t> incidents;
  };

  Status ReadHealth(abi::dcgmHandle_t handle, Grid& grid);
  Status ReadPeers(abi::dcgmHandle_t handle, Grid& grid);
  Status Watch(abi::dcgmHandle_t handle, const Topology& topology);
  Status Check(abi::dcgmHandle_t handle, Answer& answer);
  template <typename Response>
  Status CheckAs(abi::dcgmHandle_t handle, uint32_t version, std::unique_ptr<Response>& response,
                 Answer& answer);
  // Says `status` once, and that it has passed; what is not a lost connection costs the rows alone.
  Status LogChange(const char* what, const Status& status, std::string& last);
  void MakeNote();

  const abi::DcgmLibrary& library_;
  std::optional<abi::dcgmGpuGrp_t> group_;
  std::vector<uint32_t> watched_;  // Ids of the GPUs in the group, ascending.
  std::vector<uint32_t> wanted_;
  std::unique_ptr<abi::dcgmHealthResponse_v4> response_3_;
  std::unique_ptr<abi::dcgmHealthResponse_v5> response_4_;
  std::string health_failure_;  // What was said last; empty: it is told.
  std::string peers_failure_;
  bool has_no_links_ = false;
  bool note_is_old_ = false;
  std::shared_ptr<const FindingsNote> note_;
};

}  // namespace podgpu
