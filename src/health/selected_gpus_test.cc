#include "health/selected_gpus.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "source/testing/fake_source.h"

namespace podgpu {
namespace {

DeviceSelections Selecting(std::string_view gpus) {
  return {*ParseDeviceSelection(gpus), *ParseDeviceSelection("f"), *ParseDeviceSelection("f")};
}

// GPU 1 has an instance.
Topology NodeOfTwo(uint64_t epoch = 1) {
  Topology topology = FakeDriver::Gpus(2);
  topology.instances = {{1, 3, 7, "3g.40gb", {}}};
  topology.epoch = epoch;
  NumberEntities(topology);
  return topology;
}

TEST(SelectedGpus, ExcludesGpusWithoutRows) {
  const struct {
    std::string_view gpus;
    std::string_view excluded;  // One bit for each GPU; GPU 0 is the last.
  } cases[] = {{"f", "00"},   {"g:0", "10"}, {"i", "01"},
               {"i:7", "01"}, {"g+i", "00"}, {"g:5", "11"}};
  for (const auto& row : cases) {
    SelectedGpus selected(Selecting(row.gpus));
    selected.Take(NodeOfTwo());
    EXPECT_EQ(selected.excluded(), GpuSet(std::string(row.excluded))) << row.gpus;
  }
}

TEST(SelectedGpus, AMissingGpuIsAConfigurationWarning) {
  SelectedGpus selected(Selecting("g:5"));
  const auto notes = std::make_shared<const ConfigNotes>(ConfigNotes{"a.csv", 3, {"a.csv:1: x"}});
  testing::internal::CaptureStderr();
  selected.Take(NodeOfTwo());
  selected.Take(NodeOfTwo());
  selected.Take(NodeOfTwo(2));
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::ranges::count(log, '\n'), 1) << log;
  const std::string warning =
      "Not collecting GPU metrics; couldn't find requested GPU ID '5'. The GPUs of this node: 0, "
      "1. Correct --devices (-d)";
  EXPECT_NE(log.find("level=WARN msg=\"configuration entry has no effect\""), std::string::npos)
      << log;
  const auto with = selected.AddTo(notes);
  EXPECT_EQ(with->warnings, (std::vector<std::string>{"a.csv:1: x", warning}));
  EXPECT_EQ(selected.AddTo(notes), with) << "the same object while nothing changes";

  Topology more = FakeDriver::Gpus(6);
  more.epoch = 3;
  selected.Take(more);
  EXPECT_EQ(selected.AddTo(notes), notes) << "GPU 5 is there now";
}

TEST(SelectedGpus, AMissingSwitchIsALogLineOnly) {
  DeviceSelections selections = Selecting("f");
  selections.switches = *ParseDeviceSelection("g:0");
  SelectedGpus selected(selections);
  testing::internal::CaptureStderr();
  selected.Take(NodeOfTwo());
  EXPECT_NE(testing::internal::GetCapturedStderr().find("level=INFO"), std::string::npos);
  const auto notes = std::make_shared<const ConfigNotes>();
  EXPECT_EQ(selected.AddTo(notes), notes);
}

}  // namespace
}  // namespace podgpu
