#include "sim/program/control_words.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace podgpu::sim {
namespace {

TEST(FaultWords, BecomeAnEntryOfTheLog) {
  struct Case {
    std::vector<std::string> words;
    std::string entry;
  };
  const Case cases[] = {
      {{"gpu_lost", "gpu=0"}, "kind: gpu_lost, gpu: 0"},
      {{"lost", "gpu=1", "for=20s", "xid=48"}, "kind: gpu_lost, gpu: 1, for: 20s, xid: 48"},
      {{"hang", "calls=dcgmEntitiesGetLatestValues"},
       "kind: hang, calls: [\"dcgmEntitiesGetLatestValues\"]"},
      {{"slow", "calls=dcgmGet*,dcgmWatchFields", "ms=30"},
       "kind: slow, calls: [\"dcgmGet*\", \"dcgmWatchFields\"], ms: 30"},
      {{"blank", "fields=150,155"}, "kind: blank, fields: [150, 155]"},
      {{"mig_set", "gpu=0", "layout=3g.40gb,1g.10gb+me"},
       "kind: mig_set, gpu: 0, layout: [3g.40gb, 1g.10gb+me]"},
      {{"mig_set", "gpu=0", "layout="}, "kind: mig_set, gpu: 0, layout: []"},
      {{"clock_jump", "s=-3600"}, "kind: clock_jump, s: -3600"},
  };
  for (const Case& c : cases) {
    const StatusOr<FaultWords> words = ReadFaultWords(c.words);
    ASSERT_TRUE(words.ok()) << words.status();
    EXPECT_EQ(words->entry, c.entry);
    EXPECT_EQ(words->at, std::nullopt);
  }
  const StatusOr<FaultWords> later =
      ReadFaultWords(std::vector<std::string>{"kubelet_down", "at=90s"});
  ASSERT_TRUE(later.ok()) << later.status();
  EXPECT_EQ(later->entry, "kind: kubelet_down");
  EXPECT_EQ(later->at, 90'000'000);
}

TEST(FaultWords, AreRefusedWithTheNearestKnownWord) {
  struct Case {
    std::vector<std::string> words;
    std::string line;
  };
  const Case cases[] = {
      {{"gpu_last"}, "podgpu-sim fault: unknown kind of fault \"gpu_last\"; nearest is gpu_lost"},
      {{"heal"}, "podgpu-sim fault: heal is a separate command: `podgpu-sim heal`"},
      {{"gpu_lost", "gpv=0"}, "podgpu-sim fault gpu_lost: unknown key \"gpv\"; nearest is gpu"},
      {{"gpu_lost", "watts=3"},
       "podgpu-sim fault gpu_lost: unknown key \"watts\"; see `podgpu-sim fault --help`"},
      {{"gpu_lost", "gpu=0", "gpu=1"}, "podgpu-sim fault gpu_lost: gpu is written twice"},
      {{"gpu_lost", "gpu"},
       "podgpu-sim fault gpu_lost: \"gpu\" is not key=value in plain letters; see `podgpu-sim "
       "fault --help`"},
      {{"gpu_lost", "gpu=0}"},
       "podgpu-sim fault gpu_lost: \"gpu=0}\" is not key=value in plain letters; see `podgpu-sim "
       "fault --help`"},
      {{"gpu_lost"}, "podgpu-sim fault gpu_lost: gpu=N is missing"},
      {{"gpu_lost", "gpu=0", "at=90"},
       "podgpu-sim fault gpu_lost: at is \"90\"; write a time such as 90s"},
  };
  for (const Case& c : cases) {
    EXPECT_EQ(ReadFaultWords(c.words).status().message(), c.line);
  }
}

}  // namespace
}  // namespace podgpu::sim
