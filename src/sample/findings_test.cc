#include "sample/findings.h"

#include <functional>

#include <gtest/gtest.h>

namespace podgpu {
namespace {

// Findings of two GPUs with everything in them.
Findings Full() {
  Findings findings;
  findings.asked = {.xid_window = std::chrono::seconds(60),
                    .clock_window = std::chrono::seconds(60),
                    .health = true,
                    .peers = true};
  findings.xids = {{.gpu = 0, .code = 31, .total = 2, .in_window = 1, .last_us = 5},
                   {.gpu = 1, .code = 79, .total = 1, .in_window = 0, .last_us = 4}};
  findings.gpus.resize(2);
  findings.health.resize(2);
  findings.peers = {0, 1, 1, 0};
  findings.note = std::make_shared<const FindingsNote>();
  findings.events_note = findings.note;
  return findings;
}

TEST(Findings, AreEmptyAtFirst) {
  EXPECT_EQ(FindingsAsked().clock_window.count(), 0);
  EXPECT_EQ(FindingsAsked().xid_window.count(), 0);
  EXPECT_EQ(XidCount(), (XidCount{.gpu = 0, .code = 0, .total = 0, .in_window = 0, .last_us = 0}));
  EXPECT_EQ(GpuEventCounts().xids, 0U);
  EXPECT_FALSE(GpuEventCounts().xids_known);
  EXPECT_FALSE(GpuEventCounts().clocks_known);
  EXPECT_EQ(HealthVerdict(), (HealthVerdict{.result = 0, .code = 0}));
  EXPECT_EQ(GpuHealth().watches.size(), 11U)
      << "DCGM has ten watches, and there is the overall one";
  EXPECT_FALSE(GpuHealth().is_known);
}

TEST(Findings, ClearRemovesEverything) {
  Findings findings = Full();
  findings.Clear();
  EXPECT_EQ(findings.asked, FindingsAsked());
  EXPECT_TRUE(findings.xids.empty());
  EXPECT_TRUE(findings.gpus.empty());
  EXPECT_TRUE(findings.health.empty());
  EXPECT_TRUE(findings.peers.empty());
  EXPECT_EQ(findings.note, nullptr);
  EXPECT_EQ(findings.events_note, nullptr);
}

TEST(Findings, OtherNumbersAreTheSameLines) {
  Findings other = Full();
  other.xids[0].total = 9;
  other.xids[0].in_window = 9;
  other.xids[1].last_us = 9;
  other.gpus[0].xids = 9;
  other.health[1].watches[3].result = 20;
  other.note.reset();
  EXPECT_TRUE(SameLines(Full(), other));
}

TEST(Findings, WhateverIsALabelMakesOtherLines) {
  const struct {
    const char* what;
    std::function<void(Findings&)> change;
  } rows[] = {
      {"what was asked", [](Findings& f) { f.asked.health = false; }},
      {"a window", [](Findings& f) { f.asked.xid_window = std::chrono::seconds(1); }},
      {"the GPUs", [](Findings& f) { f.gpus.resize(1); }},
      {"a code", [](Findings& f) { f.xids[1].code = 31; }},
      {"the GPU of a code", [](Findings& f) { f.xids[1].gpu = 0; }},
      {"one code more", [](Findings& f) { f.xids.emplace_back(); }},
      {"a reason", [](Findings& f) { f.health[1].watches[3].code = 7; }},
      {"one health less", [](Findings& f) { f.health.pop_back(); }},
      {"a peer", [](Findings& f) { f.peers[1] = 0; }},
  };
  for (const auto& row : rows) {
    Findings other = Full();
    row.change(other);
    EXPECT_FALSE(SameLines(Full(), other)) << row.what;
  }
}

}  // namespace
}  // namespace podgpu
