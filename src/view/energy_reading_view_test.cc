#include "view/energy_reading_view.h"

#include <chrono>
#include <optional>
#include <string>

#include <gtest/gtest.h>

#include "exposition/text.h"

namespace podgpu {
namespace {

using std::chrono::seconds;

// Two GPUs; the counter of the second is read only if `second_mj` is given.
class EnergyReadings {
 public:
  EnergyReadings() {
    for (uint32_t i = 0; i < 2; ++i) {
      names_.gpus[{i}] = std::to_string(i);
      names_.uuids[{i}] = "GPU-" + std::to_string(i);
    }
  }
  void ReadAt(seconds time, std::optional<uint64_t> second_mj) {
    ProcessReading reading;
    reading.at = Instant(time);
    reading.wall = WallTime(seconds(1'700'000'000) + time);
    reading.devices.resize(2);
    for (uint32_t i = 0; i < 2; ++i) {
      reading.devices[i].device = {i};
      reading.devices[i].at = reading.at;
      reading.devices[i].counter_mj = i == 0 ? std::optional<uint64_t>(7) : second_mj;
    }
    accounts_.Take(reading);
  }
  std::string Lines() const {
    constexpr uint32_t others = 3;
    PlanBuilder plan;
    AddEnergyReadingView(accounts_, names_, others, plan);
    std::vector<Value> slots(others, Value::OfInt64(4711));
    AppendEnergyReadings(accounts_, slots);
    EXPECT_EQ(slots.size(), others + EnergyReadingSlotCount(accounts_));
    std::string page;
    RenderText(std::move(plan).Build(), nullptr, slots, page);
    return page.substr(page.find("gauge\n") + 6);
  }

 private:
  ProcessNames names_;
  ProcessAccounts accounts_{ProcessTableOptions(), LedgerOptions()};
};

TEST(EnergyReadingView, ReportsWhenTheCounterOfEachGpuWasLastRead) {
  const std::string name = "podgpu_gpu_energy_reading_timestamp_seconds";
  EnergyReadings readings;
  readings.ReadAt(seconds(10), std::nullopt);
  EXPECT_EQ(readings.Lines(), name + "{gpu=\"0\",UUID=\"GPU-0\"} 1700000010\n");
  readings.ReadAt(seconds(20), 5);
  readings.ReadAt(seconds(30), std::nullopt);
  EXPECT_EQ(readings.Lines(), name + "{gpu=\"0\",UUID=\"GPU-0\"} 1700000030\n" + name +
                                  "{gpu=\"1\",UUID=\"GPU-1\"} 1700000020\n");
}

}  // namespace
}  // namespace podgpu
