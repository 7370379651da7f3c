// The whole exporter on a vendor's fake node, a fake kubelet and a lockstep clock: what a case of
// the fault matrix is run on.
//
// Real threads and a real HTTP server on a port of the kernel's choice; time moves by Step alone.
// One test thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "exporter/exporter.h"
#include "http/testing/loopback_client.h"
#include "kube/testing/fake_kubelet.h"
#include "tests/matrix/lockstep_clock.h"
#include "tests/matrix/vendor.h"

namespace podgpu {

// What must be the same before a fault and after it.
struct HeldResources {
  int64_t threads = 0;
  int64_t descriptors = 0;
  bool operator==(const HeldResources&) const = default;
};

class MatrixNode {
 public:
  // Borrows `vendor`.
  MatrixNode(const Vendor& vendor, size_t mode);
  // The same with a kubelet of the test's.
  MatrixNode(const Vendor& vendor, size_t mode, PodResources& kubelet);
  MatrixNode(const MatrixNode&) = delete;
  MatrixNode& operator=(const MatrixNode&) = delete;
  ~MatrixNode();  // Nothing may be held up any more.

  void Start();
  // Lets one period pass and waits until all threads have done what it brought.
  void Step();

  std::string Page() const { return std::string(exporter_->tick().snapshots().Get()->text()); }
  LoopbackResponse Fetch(std::string_view path);
  uint64_t ticks() const { return exporter_->tick().ticks(); }
  int phase() const;
  HeldResources counts() const;

  VendorNode& vendor() { return *vendor_; }
  LockstepClock& clock() { return clock_; }

 private:
  const Vendor& source_vendor_;
  const ThreadTally written_off_ = NewThreadTally();
  LockstepClock clock_{written_off_};
  std::unique_ptr<VendorNode> vendor_;
  FakeKubelet fake_kubelet_;
  PodResources& kubelet_;
  std::unique_ptr<Exporter> exporter_;
  std::unique_ptr<LoopbackClient> client_;  // One connection, so that descriptors stay the same.
};

// How long a value may be shown after it was sampled.
inline constexpr std::chrono::seconds kMatrixStaleAfter{25};

}  // namespace podgpu
