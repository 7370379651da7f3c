// A source that passes every call on to another one.
//
// For test sources that change or watch one call of a real source: they override that call.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "source/source.h"

namespace podgpu {

class ForwardingSource : public Source {
 public:
  explicit ForwardingSource(std::unique_ptr<Source> inner) : inner_(std::move(inner)) {}

  StatusOr<Topology> Discover(PartKinds kinds) override { return inner_->Discover(kinds); }
  StatusOr<WatchResult> Watch(const Topology& topology, const std::vector<const Field*>& fields,
                              std::chrono::microseconds period) override {
    return inner_->Watch(topology, fields, period);
  }
  Status Read(Grid& grid) override { return inner_->Read(grid); }
  void Release() override { inner_->Release(); }
  void SetProfiling(bool is_on) override { inner_->SetProfiling(is_on); }
  void SetCollections(std::shared_ptr<const FieldCollections> collections) override {
    inner_->SetCollections(std::move(collections));
  }
  std::string ReleaseReason() const override { return inner_->ReleaseReason(); }
  std::string Describe() const override { return inner_->Describe(); }
  void Interrupt() noexcept override { inner_->Interrupt(); }

 private:
  const std::unique_ptr<Source> inner_;
};

}  // namespace podgpu
