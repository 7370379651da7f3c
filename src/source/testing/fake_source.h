// A Source for tests, which does what its FakeDriver says.
//
// The driver is owned by the test and outlives all sources that the test's opener makes of it, so
// that a test can count calls over several connections.  Called by the source thread; the test
// steers the driver from its own.  For tests only.
#pragma once

#include <string>
#include <vector>

#include "fields/field_ids.h"
#include "source/source.h"
#include "source/testing/fake_driver.h"

namespace podgpu {

class FakeSource final : public Source {
 public:
  explicit FakeSource(FakeDriver& driver) : driver_(driver) {}

  StatusOr<Topology> Discover(PartKinds kinds) override {
    std::unique_lock lock(driver_.mutex_);
    driver_.discover_waiting_ = driver_.discover_blocked_;
    driver_.changed_.notify_all();
    driver_.changed_.wait(lock, [&] { return !driver_.discover_blocked_; });
    driver_.discover_waiting_ = false;
    driver_.kinds_ = kinds;
    ++driver_.discoveries_;
    if (!driver_.discover_.ok()) {
      return driver_.discover_;
    }
    return driver_.topology_;
  }
  StatusOr<WatchResult> Watch(const Topology& /*topology*/,
                              const std::vector<const Field*>& /*fields*/,
                              std::chrono::microseconds /*period*/) override {
    std::scoped_lock lock(driver_.mutex_);
    ++driver_.watches_;
    return driver_.watch_;
  }
  Status Read(Grid& grid) override {
    std::unique_lock lock(driver_.mutex_);
    driver_.waiting_ = driver_.blocked_;
    driver_.freed_ = false;
    driver_.changed_.notify_all();
    driver_.changed_.wait(lock, [&] { return !driver_.blocked_ || driver_.freed_; });
    driver_.waiting_ = false;
    if (driver_.freed_) {
      return absl::UnavailableError("the host engine closed the connection (DCGM -21)");
    }
    if (!driver_.read_.ok()) {
      return driver_.read_;
    }
    for (uint16_t row = 0; row < grid.fields().size(); ++row) {
      const ColumnRange columns = grid.ColumnsOf(FieldRow{row});
      const uint16_t field = grid.fields()[row]->id;
      // A number that means nothing there would make each device degraded.
      const bool is_well =
          field_ids::IsJudged(field) && field != field_ids::kXid && driver_.value_.present();
      const Value value = is_well ? Value::OfInt64(0) : driver_.value_;
      for (auto column = static_cast<uint16_t>(columns.first);
           column < columns.first + columns.count; ++column) {
        grid.at(FieldRow{row}, EntityId{column}) =
            driver_.silent_ == column ? Value::OfAbsence(Absence::kBlank) : value;
      }
    }
    return absl::OkStatus();
  }
  void Release() override { ++driver_.let_gos; }
  void SetProfiling(bool is_on) override { driver_.profiles = is_on; }
  void SetCollections(std::shared_ptr<const FieldCollections> collections) override {
    driver_.collections.Set(std::move(collections));
  }
  std::string ReleaseReason() const override { return driver_.need.load(); }
  void Interrupt() noexcept override {
    std::scoped_lock lock(driver_.mutex_);
    ++driver_.interrupts_;
    if (driver_.interruptible_ && driver_.waiting_) {
      driver_.freed_ = true;
      driver_.blocked_ = false;  // The engine is back at once.
    }
    driver_.changed_.notify_all();
  }
  std::string Describe() const override { return "fake driver"; }

 private:
  FakeDriver& driver_;
};

}  // namespace podgpu
