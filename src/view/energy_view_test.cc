#include "view/energy_view.h"

#include <memory>

#include <gtest/gtest.h>

#include "exposition/text.h"
#include "tests/strict_parser.h"

namespace podgpu {
namespace {

using std::chrono::seconds;

std::shared_ptr<const ProcessIdentity> Worker(uint32_t pid, bool in_pod = true) {
  auto identity = std::make_shared<ProcessIdentity>();
  identity->key = {.pid = pid, .start_ticks = 1};
  if (in_pod) {
    identity->place = {.pod_uid = "uid-" + std::to_string(pid), .container_id = "c"};
  }
  return identity;
}

// Two GPUs that are read each second; the second has no known name.
class EnergyPage {
 public:
  EnergyPage() {
    names.gpus[{0}] = "7";
    names.uuids[{0}] = "GPU-a";
  }
  void Take(uint64_t counter_mj, const std::vector<std::shared_ptr<const ProcessIdentity>>& who,
            std::vector<ProcessBusy> busy = {}) {
    now_ += seconds(1);
    DeviceReading gpu;
    gpu.at = now_;
    gpu.counter_mj = counter_mj;
    for (const auto& identity : who) {
      gpu.processes.push_back({.pid = identity->key.pid, .identity = identity});
    }
    gpu.busy = std::move(busy);
    DeviceReading other = gpu;
    other.device = {1};
    other.processes.clear();
    accounts_.Take({.at = now_, .devices = {gpu, other}});
  }
  std::string Text() const {
    PlanBuilder builder;
    AddEnergyView(accounts_, names, 3, builder);
    std::vector<Value> slots(3);
    AppendEnergy(accounts_, slots);
    std::string text;
    RenderText(std::move(builder).Build(), nullptr, slots, text);
    EXPECT_TRUE(ParseTextStrictly(text).ok()) << ParseTextStrictly(text).status();
    return text;
  }
  std::string Of(const std::string& method) const {
    const std::string text = Text();
    const std::string begin = "{gpu=\"7\",UUID=\"GPU-a\",method=\"" + method + "\"} ";
    const size_t at = text.find(begin);
    return at == std::string::npos
               ? "none"
               : text.substr(at + begin.size(), text.find('\n', at) - at - begin.size());
  }
  ProcessNames names;

 private:
  ProcessAccounts accounts_{ProcessTableOptions{}, LedgerOptions{}};
  Instant now_{std::chrono::hours(1)};
};

TEST(EnergyView, ReportsTheEnergyOfADeviceByMethod) {
  EnergyPage page;
  page.Take(1'000, {});
  page.Take(1'250, {});
  EXPECT_EQ(page.Of("unattributed"), "0.25") << "from the first reading on";
  EXPECT_EQ(page.Of("exclusive"), "0") << "a counter begins before it counts";
  page.Take(1'650, {Worker(1)});
  EXPECT_EQ(page.Of("exclusive"), "0.4");
  page.Take(2'650, {Worker(1), Worker(2, false)},
            {{.pid = 1, .busy_percent_us = 3}, {.pid = 2, .busy_percent_us = 1}});
  EXPECT_EQ(page.Of("sm_share"), "0.75");
  EXPECT_EQ(page.Of("outside_kubernetes"), "0.25") << "it has no row, but its share is reported";
  EXPECT_EQ(page.Of("mig_activity"), "0");
  EXPECT_EQ(page.Of("equal"), "0");
}

TEST(EnergyView, KeepsTheEnergyWhenProcessesEnd) {
  EnergyPage page;
  page.Take(0, {Worker(1)});
  page.Take(1'000, {Worker(1)});
  for (int second = 0; second < 1'000; ++second) {
    page.Take(1'000, {});
  }
  EXPECT_EQ(page.Of("exclusive"), "1");
}

TEST(EnergyView, LeavesOutADeviceWithoutAName) {
  EnergyPage page;
  page.Take(0, {});
  page.Take(500, {});
  EXPECT_EQ(page.Text().find("GPU-b"), std::string::npos);
  page.names.gpus[{1}] = "8";
  page.names.uuids[{1}] = "GPU-b";
  EXPECT_NE(page.Text().find("{gpu=\"8\",UUID=\"GPU-b\",method=\"unattributed\"} 0.5\n"),
            std::string::npos);
}

}  // namespace
}  // namespace podgpu
