#include "source/auto_source.h"

#include <gtest/gtest.h>

#include "sample/columns.h"
#include "source/testing/dcgm_node.h"

namespace podgpu {
namespace {

constexpr uint16_t kSmActive = 1002;

// A node with both libraries; each may be missing.
class AutoSourceTest : public ::testing::Test {
 protected:
  AutoSourceTest() { node_.source(); }  // Creates the node's fakes.

  void Open(std::vector<uint16_t> ids, FindingsAsked asked = {}, std::string engine = "") {
    fields_ = Fields(std::move(ids));
    source_ = std::make_unique<AutoSource>(
        AutoSource::Makers{.nvml = [this]() -> StatusOr<std::unique_ptr<NvmlSource>> {
                             if (!has_nvml_) {
                               return absl::NotFoundError(without_nvml_);
                             }
                             return std::make_unique<NvmlSource>(node_.nvml.Library(),
                                                                 NvmlSourceOptions{}, node_.clock);
                           },
                           .dcgm = [this]() -> StatusOr<std::unique_ptr<Source>> {
                             if (!has_dcgm_) {
                               return absl::NotFoundError(without_dcgm_);
                             }
                             return std::move(node_.made);
                           }},
        fields_, asked, std::move(engine));
  }
  Status Look() {
    StatusOr<Topology> found = source_->Discover(PartsFor(fields_));
    if (found.ok()) {
      topology_ = std::make_shared<Topology>(*std::move(found));
    }
    return found.status();
  }
  bool Chose(const std::string& words) const {
    return source_->Describe().find("(chosen: " + words) != std::string::npos;
  }

  Node node_{2};
  bool has_nvml_ = true, has_dcgm_ = true;
  std::string without_nvml_ = "libnvidia-ml.so.1 is nowhere";
  std::string without_dcgm_ = "libdcgm.so.4 is nowhere. Install the package";
  std::vector<const Field*> fields_;
  std::shared_ptr<const Topology> topology_;
  std::unique_ptr<AutoSource> source_;
};

TEST_F(AutoSourceTest, ChoosesNvmlWhenItHasEverything) {
  Open({kTemperatureId, kXidId, kSmActive});
  EXPECT_EQ(source_->Describe(), "no device source is chosen yet");
  ASSERT_TRUE(Look().ok());
  EXPECT_EQ(topology_->gpus.size(), 2U);
  EXPECT_TRUE(Chose("it has every requested metric)")) << source_->Describe();
  EXPECT_EQ(node_.nvml.CountOf("nvmlShutdown"), 0);
}

TEST_F(AutoSourceTest, GivesTheCollectionsToTheChosenSource) {
  using std::chrono::seconds;
  const auto collections = std::make_shared<const FieldCollections>(
      FieldCollections{{"slow", seconds(60), {kTemperatureId}}});
  Open({kTemperatureId, kCpuUtilisation});
  source_->SetCollections(collections);
  ASSERT_TRUE(Look().ok());
  ASSERT_TRUE(source_->Watch(*topology_, fields_, seconds(1)).ok());
  EXPECT_EQ(node_.dcgm.PeriodOf(kTemperatureId), 60'000'000);
  source_->SetCollections(nullptr);
  ASSERT_TRUE(source_->Watch(*topology_, fields_, seconds(1)).ok());
  EXPECT_EQ(node_.dcgm.PeriodOf(kTemperatureId), 1'000'000);
}

TEST_F(AutoSourceTest, ChoosesDcgmForWhatNvmlLacksAndReleasesNvml) {
  Open({kTemperatureId, kCpuUtilisation});
  ASSERT_TRUE(Look().ok());
  EXPECT_TRUE(Chose("NVML alone lacks DCGM_FI_DEV_CPU_UTIL_RATIO)")) << source_->Describe();
  EXPECT_TRUE(source_->Describe().starts_with("dcgm ")) << source_->Describe();
  EXPECT_GE(node_.nvml.CountOf("nvmlShutdown"), 1);
}

TEST_F(AutoSourceTest, ChoosesDcgmForProfilingWhenAGpuHasNoGpm) {
  node_.nvml.gpus[1].has_gpm = false;
  Open({kTemperatureId, kSmActive, kTensorActive});
  ASSERT_TRUE(Look().ok());
  EXPECT_TRUE(Chose("NVML alone lacks DCGM_FI_PROF_SM_UTIL_RATIO and 1 more)"))
      << source_->Describe();
}

TEST_F(AutoSourceTest, ChoosesDcgmForHealth) {
  Open({kTemperatureId}, {.health = true});
  ASSERT_TRUE(Look().ok());
  EXPECT_TRUE(Chose("NVML alone lacks the health of GPUs")) << source_->Describe();
}

TEST_F(AutoSourceTest, KeepsNvmlWhenDcgmIsMissing) {
  has_dcgm_ = false;
  Open({kTemperatureId, kCpuUtilisation});
  ASSERT_TRUE(Look().ok());
  EXPECT_TRUE(
      Chose("DCGM_FI_DEV_CPU_UTIL_RATIO absent, since DCGM cannot be used: libdcgm.so.4 "
            "is nowhere"))
      << source_->Describe();
  ASSERT_TRUE(source_->Watch(*topology_, fields_, std::chrono::seconds(1)).ok());
  Grid grid(topology_, fields_);
  ASSERT_TRUE(source_->Read(grid).ok());
  EXPECT_TRUE(grid.at(FieldRow{0}, EntityId{0}).present());
}

TEST_F(AutoSourceTest, ChoosesDcgmWhenNvmlIsMissing) {
  has_nvml_ = false;
  Open({kTemperatureId});
  ASSERT_TRUE(Look().ok());
  EXPECT_TRUE(Chose("NVML cannot be used: libnvidia-ml.so.1 is nowhere)")) << source_->Describe();
}

TEST_F(AutoSourceTest, TriesBothAgainWhenNeitherCanBeUsed) {
  has_nvml_ = has_dcgm_ = false;
  Open({kTemperatureId});
  EXPECT_EQ(Look(),
            absl::NotFoundError("libnvidia-ml.so.1 is nowhere. libdcgm cannot be loaded either"));
  has_nvml_ = true;
  EXPECT_TRUE(Look().ok());
}

TEST_F(AutoSourceTest, ChoosesAgainWhenMoreIsAskedFor) {
  Open({kTemperatureId});
  ASSERT_TRUE(Look().ok());
  ASSERT_TRUE(source_->Watch(*topology_, fields_, std::chrono::seconds(1)).ok());
  fields_ = Fields({kTemperatureId, kCpuUtilisation});
  const Status status = source_->Watch(*topology_, fields_, std::chrono::seconds(1)).status();
  EXPECT_TRUE(LostConnection(status)) << status;
  ASSERT_TRUE(Look().ok());
  EXPECT_TRUE(Chose("NVML alone lacks")) << source_->Describe();
}

TEST_F(AutoSourceTest, ChoosesAgainWhenHealthIsAskedFor) {
  Open({kTemperatureId});
  ASSERT_TRUE(Look().ok());
  ASSERT_TRUE(source_->Watch(*topology_, fields_, std::chrono::seconds(1)).ok());
  Grid grid(topology_, fields_);
  ASSERT_TRUE(source_->Read(grid).ok());
  grid.findings.asked.health = true;
  EXPECT_TRUE(LostConnection(source_->Read(grid)));
  ASSERT_TRUE(Look().ok());
  EXPECT_TRUE(Chose("NVML alone lacks the health")) << source_->Describe();
}

constexpr char kEngine[] = "nvidia-dcgm:5555";

TEST_F(AutoSourceTest, TakesTheNamedEngineWithoutALookAtNvml) {
  Open({kTemperatureId}, {}, kEngine);
  ASSERT_TRUE(Look().ok());
  EXPECT_TRUE(source_->Describe().starts_with("dcgm ")) << source_->Describe();
  EXPECT_FALSE(Chose("")) << "the configuration leaves no choice";
  const StatusOr<WatchResult> watched =
      source_->Watch(*topology_, fields_, std::chrono::seconds(1));
  ASSERT_TRUE(watched.ok());
  EXPECT_EQ(watched->stand_in, "");
}

TEST_F(AutoSourceTest, ReadsNvmlInPlaceOfAnEngineWithoutClient) {
  has_dcgm_ = false;
  Open({kTemperatureId, kCpuUtilisation}, {}, kEngine);
  ASSERT_TRUE(Look().ok());
  EXPECT_TRUE(Chose("in place of the host engine nvidia-dcgm:5555)")) << source_->Describe();
  const StatusOr<WatchResult> watched =
      source_->Watch(*topology_, fields_, std::chrono::seconds(1));
  ASSERT_TRUE(watched.ok());
  EXPECT_EQ(watched->stand_in,
            "NVML is read in place of the host engine nvidia-dcgm:5555 and lacks "
            "DCGM_FI_DEV_CPU_UTIL_RATIO, since libdcgm.so.4 is nowhere");
  EXPECT_EQ(watched->remedy, "install the package");
  Grid grid(topology_, fields_);
  ASSERT_TRUE(source_->Read(grid).ok());
  EXPECT_TRUE(grid.at(FieldRow{0}, EntityId{0}).present());
}

TEST_F(AutoSourceTest, TakesTheEngineOnceItsClientIsThere) {
  has_dcgm_ = false;
  Open({kTemperatureId}, {}, kEngine);
  ASSERT_TRUE(Look().ok());
  ASSERT_TRUE(source_->Watch(*topology_, fields_, std::chrono::seconds(1)).ok());
  has_dcgm_ = true;
  EXPECT_TRUE(
      LostConnection(source_->Watch(*topology_, fields_, std::chrono::seconds(1)).status()));
  EXPECT_GE(node_.nvml.CountOf("nvmlShutdown"), 1);
  ASSERT_TRUE(Look().ok());
  EXPECT_TRUE(source_->Describe().starts_with("dcgm ")) << source_->Describe();
  const StatusOr<WatchResult> watched =
      source_->Watch(*topology_, fields_, std::chrono::seconds(1));
  ASSERT_TRUE(watched.ok());
  EXPECT_EQ(watched->stand_in, "");
}

TEST_F(AutoSourceTest, SaysThatNeitherTheEngineNorNvmlCanBeUsed) {
  has_nvml_ = has_dcgm_ = false;
  without_dcgm_ = "libdcgm.so.4 is in none of 2 paths (/a, /b). Install the package";
  without_nvml_ = "libnvidia-ml.so.1 is in none of 2 paths (/a, /b). Install the driver";
  Open({kTemperatureId}, {}, kEngine);
  EXPECT_EQ(Look(),
            absl::NotFoundError(without_dcgm_ +
                                ". Nor can NVML serve in its place: libnvidia-ml.so.1 is in none "
                                "of 2 paths. Install the driver"))
      << "the paths are named once";
  without_nvml_ = "/x cannot be opened as libnvidia-ml: no such file (2). Correct the path";
  EXPECT_EQ(Look(), absl::NotFoundError(without_dcgm_ +
                                        ". Nor can NVML serve in its place: " + without_nvml_));
}

}  // namespace
}  // namespace podgpu
