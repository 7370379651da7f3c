#include "process/process_accounts.h"

#include <gtest/gtest.h>

namespace podgpu {
namespace {

TEST(ProcessTableOptions, RowsStayFiveMinutesByDefault) {
  EXPECT_EQ(ProcessTableOptions().retention, std::chrono::minutes(5));
}

TEST(ProcessAccounts, HasNewLinesWhenAnyOfItsPartsHas) {
  ProcessAccounts accounts({.retention = std::chrono::minutes(5), .all_processes = true}, {});
  const PodNumber holder = accounts.pods().NumberOf("pod-a", Instant(std::chrono::hours(1)));
  ProcessReading reading{.at = Instant(std::chrono::hours(1)), .devices = {}};
  reading.devices.push_back({.device = DeviceNumber{0},
                             .at = reading.at,
                             .counter_mj = 1,
                             .processes = {{.pid = 7, .memory_bytes = 1}},
                             .holders = {holder}});
  accounts.Take(reading);
  EXPECT_GT(accounts.uses().generation(), 0U);
  EXPECT_GT(accounts.table().generation(), 0U);
  EXPECT_EQ(accounts.generation(), accounts.table().generation() + accounts.uses().generation() +
                                       accounts.ledger().generation());
}

}  // namespace
}  // namespace podgpu
