// A PodResources whose answers a test dictates, and which can be told not to answer.  Records how
// often it was asked.
//
// Thread safe, since tests steer it while the refresher runs.  For tests only.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <utility>

#include "kube/pod_resources.h"

namespace podgpu {

class FakeKubelet final : public PodResources {
 public:
  StatusOr<std::shared_ptr<const PodAllocations>> List() override {
    std::unique_lock lock(mutex_);
    ++calls_;
    waiting_ = blocked_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return !blocked_; });
    waiting_ = false;
    return answer_;
  }

  void Answer(StatusOr<PodAllocations> answer) {
    std::scoped_lock lock(mutex_);
    if (answer.ok()) {
      answer_ = std::make_shared<const PodAllocations>(*std::move(answer));
    } else {
      answer_ = answer.status();
    }
  }
  // Gives this object again, as a kubelet client does while nothing changes.
  void AnswerAgain(std::shared_ptr<const PodAllocations> answer) {
    std::scoped_lock lock(mutex_);
    answer_ = std::move(answer);
  }
  // One container that holds the device ids given.
  void AnswerWith(std::vector<Allocation> allocations) {
    Answer(PodAllocations{"v1", static_cast<uint32_t>(allocations.size()), std::move(allocations)});
  }
  void Block() {
    std::scoped_lock lock(mutex_);
    blocked_ = true;
  }
  void Release() {
    std::scoped_lock lock(mutex_);
    blocked_ = false;
    changed_.notify_all();
  }
  void AwaitBlockedCall() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return waiting_; });
  }
  int calls() const {
    std::scoped_lock lock(mutex_);
    return calls_;
  }

 private:
  mutable std::mutex mutex_;  // Guards everything below; the waits need a plain one.
  std::condition_variable changed_;
  StatusOr<std::shared_ptr<const PodAllocations>> answer_ =
      std::make_shared<const PodAllocations>(PodAllocations{"v1", 0, {}});
  bool blocked_ = false, waiting_ = false;
  int calls_ = 0;
};

}  // namespace podgpu
