// Containers of a runtime outside Kubernetes on the page: their label, what becomes of it when the
// runtime is silent, and where podgpu reports a device that matches no GPU.
#include <algorithm>

#include "base/text.h"
#include "exporter/testing/tick_fixture.h"

namespace podgpu {
namespace {

using std::chrono::seconds;

class ContainerLabels : public TickTest {
 protected:
  ContainerLabels() {
    extra_.containers = &containers_;
    List({});
  }

  void List(std::vector<RuntimeContainer> containers, PartState state = PartState::kOk) {
    auto facts = std::make_shared<ContainerFacts>();
    facts->value = std::make_shared<const RuntimeContainers>(
        RuntimeContainers{.containers = std::move(containers)});
    facts->state = state;
    facts->detail = "the socket says so";
    facts->good_at = clock_.Now();
    containers_.Set(facts);
  }
  // The lines of a new page that contain `part`, without the labels before `container`.
  std::vector<std::string> Lines(const std::string& part) {
    SetGrid(34);
    const std::string page = Page();
    std::vector<std::string> lines;
    for (const std::string_view line : Split(page, '\n')) {
      if (!line.starts_with('#') && line.find(part) != std::string_view::npos) {
        const size_t device = line.find("gpu=\"");
        const size_t container = line.find(",container=");
        lines.push_back(device == std::string_view::npos
                            ? std::string(line)
                            : std::string(line.substr(device, 7)) +
                                  (container == std::string_view::npos
                                       ? std::string()
                                       : std::string(line.substr(container))));
      }
    }
    return lines;
  }
  std::vector<std::string> OwnersOfDevices() {
    const Condition condition = *tick().conditions().Get();
    std::vector<std::string> owners;
    for (const DeviceCondition& device : condition.devices) {
      owners.push_back(device.owners);
    }
    return owners;
  }
  PartCondition Part() {
    const Condition condition = *tick().conditions().Get();
    const auto part = std::ranges::find(condition.parts, "containers", &PartCondition::part);
    return part == condition.parts.end() ? PartCondition() : *part;
  }

  Published<ContainerFacts> containers_;
};

using LineList = std::vector<std::string>;

TEST_F(ContainerLabels, EachContainerOfADeviceHasItsRow) {
  EXPECT_EQ(Lines("GPU_TEMP"), (LineList{R"(gpu="0")", R"(gpu="1")"}));
  List({{"1", "train", {"0"}}, {"2", "web", {FakeDriver::Uuid(0)}}});
  EXPECT_EQ(Lines("GPU_TEMP"), (LineList{R"(gpu="0",container="train"} 34)",
                                         R"(gpu="0",container="web"} 34)", R"(gpu="1")"}));
  EXPECT_EQ(Lines("podgpu_runtime_containers"), LineList{"podgpu_runtime_containers 2"});
  EXPECT_EQ(Part().state, PartState::kOk);
  EXPECT_EQ(OwnersOfDevices(), (LineList{"2 containers", "free"}));
  List({{"1", "train", {"0"}}});
  (void)Lines("");
  EXPECT_EQ(OwnersOfDevices(), (LineList{"container train", "free"}));
}

TEST_F(ContainerLabels, LeaveWhenTheLastListIsTooOld) {
  List({{"1", "train", {"0"}}}, PartState::kDegraded);
  clock_.Advance(seconds(60));
  EXPECT_EQ(Lines("GPU_TEMP").front(), R"(gpu="0",container="train"} 34)");
  EXPECT_EQ(Lines("fact=\"containers\""),
            LineList{R"(podgpu_fact_age_seconds{fact="containers"} 60)"});
  clock_.Advance(seconds(1));
  testing::internal::CaptureStderr();
  EXPECT_EQ(Lines("GPU_TEMP").front(), R"(gpu="0")");
  const std::string log = testing::internal::GetCapturedStderr();
  EXPECT_NE(log.find("labels of containers are withdrawn"), std::string::npos) << log;
  EXPECT_EQ(Lines("podgpu_runtime_containers"), LineList{});
  EXPECT_EQ(
      Part().detail,
      "the socket says so. Container labels are withdrawn: the last list is older than 60.0 s");
}

TEST_F(ContainerLabels, ADeviceThatMatchesNoGpuIsInTheLogOnThePageAndInTheState) {
  List({{"1", "train", {"7"}}});
  testing::internal::CaptureStderr();
  EXPECT_EQ(Lines("podgpu_runtime_container_devices_unmatched"),
            LineList{"podgpu_runtime_container_devices_unmatched 1"});
  (void)Lines("");
  const std::string log = testing::internal::GetCapturedStderr();
  const std::string line = "devices of containers match no GPU";
  EXPECT_NE(log.find(line), std::string::npos) << log;
  EXPECT_EQ(log.find(line), log.rfind(line)) << "logged once";
  EXPECT_EQ(Part().state, PartState::kDegraded);
  EXPECT_EQ(Part().detail,
            "the socket says so; 1 device without a match, the first: \"7\" of container \"train\" "
            "matches no GPU of this node; name a GPU by its number or UUID (nvidia-smi -L)");
  List({{"1", "train", {"0"}}});
  testing::internal::CaptureStderr();
  (void)Lines("");
  EXPECT_NE(testing::internal::GetCapturedStderr().find("all devices of containers match a GPU"),
            std::string::npos);
}

}  // namespace
}  // namespace podgpu
