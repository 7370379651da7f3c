// Each step from the driver to the page fails in turn, and the explanation names the exact reason.
#include "pages/explain.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "attribution/owner_facts.h"
#include "source/testing/fake_source.h"

namespace podgpu {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::string_view kGpuUuid = "GPU-00000000-0000-0000-0000-000000000000";

// Two healthy GPUs; the first is allocated to one pod.  Temperature and power are read.
class ExplainTest : public ::testing::Test {
 protected:
  ExplainTest() {
    topology_->gpus[0].uuid = kGpuUuid;
    pods_.state = PartState::kOk;
    pods_.detail = "the kubelet answers";
    Give({{"research", "train-0", "main", "nvidia.com/gpu", std::string(kGpuUuid)}});
    view_.kubernetes = true;
    condition_.owners_known = true;
  }

  void Give(std::vector<Allocation> allocations) {
    pods_.value =
        std::make_shared<const PodAllocations>(PodAllocations{"v1", 41, std::move(allocations)});
  }

  Explanation Ask(const ExplainQuery& query = FirstGpu()) const {
    OwnerFacts known;
    known.pods = pods_.value;
    auto grid = std::make_shared<Grid>(topology_,
                                       std::vector<const Field*>{FindField(150), FindField(155)});
    grid->read_at = now_ - read_ago_;
    if (!topology_->gpus.empty()) {
      grid->at(FieldRow{0}, EntityId{0}) = temperature_;
      grid->at(FieldRow{1}, EntityId{0}) = Value::OfDouble(212.5);
    }
    grid->findings.lacked = lacked_;
    const Snapshot page({std::make_shared<const SeriesPlan>(),
                         grid,
                         std::make_shared<const Owners>(MakeOwners(*topology_, known, join_)),
                         {},
                         1});
    return Explain({&page, &condition_, pods_, now_, seconds(90), seconds(60), join_, view_,
                    visible_, use_, timeline_, wall_now_},
                   query);
  }
  static ExplainQuery FirstGpu() {
    ExplainQuery query;
    query.gpu = 0;
    return query;
  }
  static ExplainQuery OfPod(std::string pod_namespace, std::string pod) {
    ExplainQuery query;
    query.pod_namespace = std::move(pod_namespace);
    query.pod = std::move(pod);
    return query;
  }

  // A step of the first device.
  ExplainedStep Step(std::string_view name) const {
    const Explanation explanation = Ask();
    EXPECT_EQ(explanation.devices.size(), 1U);
    const std::vector<ExplainedStep>& steps = explanation.devices.at(0).steps;
    return *std::ranges::find(steps, name, &ExplainedStep::name);
  }
  std::string Remedy() const { return Ask().devices.at(0).remedy; }

  std::shared_ptr<Topology> topology_ = std::make_shared<Topology>(FakeDriver::Gpus(2));
  PodFacts pods_;
  Condition condition_;
  JoinOptions join_;
  ViewOptions view_;
  VisibleNamespaces visible_;
  UseCopy use_;
  GpuTimeline timeline_{seconds(1)};
  WallTime wall_now_{std::chrono::hours(14) + std::chrono::minutes(3) + seconds(22)};
  Instant now_{seconds(1'000)};
  milliseconds read_ago_{400};
  Value temperature_ = Value::OfInt64(45);
  std::shared_ptr<const LackedFields> lacked_;

 public:
  void SetUp() override { pods_.good_at = now_ - seconds(2); }
};

TEST_F(ExplainTest, ShowsEveryStepOfAHealthyDevice) {
  const Explanation explanation = Ask();
  ASSERT_EQ(explanation.devices.size(), 1U);
  EXPECT_EQ(explanation.notes,
            std::vector<std::string>{
                "a pod that holds a device here may have finished already: a kubelet before 1.34 "
                "lists it until it admits another pod, and podgpu has no word from the API server "
                "about it (--kubernetes-enable-pod-uid asks the API server)"});
  const std::vector<ExplainedStep> expected = {
      {"device", "ok", "the driver answers; read 0.4 s ago"},
      {"allocation", "ok",
       "the kubelet gives nvidia.com/gpu to research/train-0 (main), as of 2.0 s ago"},
      {"match", "ok", "by UUID; DCGM rows carry namespace, pod and container"},
      {"processes", "absent", "processes are not read; --process-metrics=on reads them"},
      {"values", "ok", "2 of 2 fields"},
  };
  EXPECT_EQ(explanation.devices[0].steps, expected);
  EXPECT_EQ(explanation.devices[0].remedy, "");
  EXPECT_EQ(explanation.devices[0].condition, "");
  EXPECT_EQ(explanation.devices[0].uuid, kGpuUuid);
}

TEST_F(ExplainTest, NoDeviceIsFreeOnAPageThatIsOlderThanTheKubeletsAnswer) {
  Give({});
  condition_.owners_known = false;
  EXPECT_EQ(Step("allocation"),
            (ExplainedStep{"allocation", "absent",
                           "the kubelet has answered 2.0 s ago; the next page has its owners"}));
  EXPECT_EQ(Step("match").state, "absent");
}

TEST_F(ExplainTest, NoDeviceIsFreeWhileTheKubeletsListIsIncomplete) {
  Give({});
  EXPECT_EQ(Step("allocation").state, "free");
  pods_.is_incomplete = true;
  pods_.state = PartState::kDegraded;
  pods_.detail = "the kubelet's list is incomplete: it has 0 pods; x";
  EXPECT_EQ(Step("allocation"),
            (ExplainedStep{"allocation", "absent",
                           "2.0 s ago no pod held it, and now the kubelet's list is "
                           "incomplete: it has 0 pods; x"}));
}

TEST_F(ExplainTest, DeviceIsLost) {
  topology_->gpus[0].state = DeviceState::kLost;
  EXPECT_EQ(Step("device"), (ExplainedStep{"device", "lost",
                                           "the driver reports that it is lost; read 0.4 s ago"}));
  EXPECT_TRUE(Remedy().starts_with("drain the node"));
}

// The driver's lists of GPU 0 are read; `names` run there.
UseCopy UseOf(const std::vector<std::string>& names) {
  UseCopy use;
  use.is_known = true;
  use.uuids = {std::string(kGpuUuid)};
  for (size_t i = 0; i < names.size(); ++i) {
    CopiedProcess& process = use.processes.emplace_back();
    process.key.process.pid = static_cast<uint32_t>(40'213 + i);
    process.name = names[i];
  }
  return use;
}

TEST_F(ExplainTest, NamesTheProcessesOfADevice) {
  condition_.parts = {{"processes", PartState::kOk, "1 process"}};
  EXPECT_EQ(Step("processes"), (ExplainedStep{"processes", "absent", "1 process"}));
  use_ = UseOf({});
  EXPECT_EQ(Step("processes"), (ExplainedStep{"processes", "ok", "none runs on it"}));
  use_ = UseOf({"python3"});
  EXPECT_EQ(Step("processes"), (ExplainedStep{"processes", "ok", "1 process: 40213 python3"}));
  use_ = UseOf({"a", "b", "", "d", "e", "f"});
  EXPECT_EQ(Step("processes").detail, "6 processes: 40213 a, 40214 b, 40215, 40216 d, and 2 more");
}

TEST_F(ExplainTest, NamesNoProcessOfAHiddenPod) {
  condition_.parts = {{"processes", PartState::kOk, "1 process"}};
  use_ = UseOf({"python3"});
  use_.processes[0].pod = PodNumber{7};
  CopiedPod& pod = use_.pods.emplace_back();
  pod.key.pod = PodNumber{7};
  pod.pod_namespace = "research";
  EXPECT_EQ(Step("processes").detail, "1 process: 40213 python3");
  visible_.chosen = {"team-b"};
  EXPECT_EQ(Step("processes").detail, "1 process: all in other namespaces");
  use_.pods.clear();
  EXPECT_EQ(Step("processes").detail, "1 process: all in other namespaces")
      << "a pod that is gone may have been of a hidden namespace";
}

TEST_F(ExplainTest, NamesTheLastProcessesOfALostDeviceAndSinceWhenItIsLost) {
  topology_->gpus[0].state = DeviceState::kLost;
  condition_.parts = {{"processes", PartState::kOk, "0 processes"}};
  EXPECT_EQ(Step("processes").detail, "cannot be read while the device is lost");
  use_ = UseOf({"python3"});
  std::swap(use_.processes, use_.last_seen);
  EXPECT_EQ(Step("processes"),
            (ExplainedStep{"processes", "absent",
                           "cannot be read while the device is lost; last seen: 40213 python3"}));
  EXPECT_EQ(Ask().devices.at(0).condition, "lost") << "the timeline does not know it yet";
}

TEST_F(ExplainTest, DeviceIsUnresponsive) {
  read_ago_ = seconds(91);
  EXPECT_EQ(Step("device"),
            (ExplainedStep{"device", "unresponsive", "no values have been read for 91.0 s"}));
  EXPECT_TRUE(Remedy().starts_with("run nvidia-smi on the node"));
}

TEST_F(ExplainTest, KubeletHasNotAnswered) {
  pods_.value = nullptr;
  pods_.detail = "/x.sock does not exist: mount its directory";
  EXPECT_EQ(Step("allocation"),
            (ExplainedStep{"allocation", "absent", "/x.sock does not exist: mount its directory"}));
  EXPECT_EQ(Step("match"),
            (ExplainedStep{"match", "absent", "there is no usable answer of the kubelet"}));
}

TEST_F(ExplainTest, KubeletsAnswerIsTooOld) {
  pods_.good_at = now_ - seconds(61);
  pods_.detail = "refused";
  EXPECT_EQ(Step("allocation"),
            (ExplainedStep{"allocation", "absent",
                           "the kubelet's last answer is 61.0 s old, which is too old: refused"}));
}

TEST_F(ExplainTest, NoPodHoldsTheDevice) {
  Give({});
  EXPECT_EQ(Step("allocation"),
            (ExplainedStep{"allocation", "free",
                           "no pod of the kubelet's list (41 pods) holds it, as of 2.0 s ago"}));
  EXPECT_EQ(Step("match"), (ExplainedStep{"match", "ok", "there is nothing to match"}));
}

TEST_F(ExplainTest, ADegradedGpuNamesItsLossAsThePageJudgedIt) {
  condition_.devices = {
      {0, "degraded", FakeDriver::Uuid(0), "", "", "", DeviceLoss::kRemapPending}};
  EXPECT_EQ(Step("device").state, "degraded");
  EXPECT_TRUE(Step("device").detail.starts_with(
      "rows of its memory wait for a reset to be remapped; read "))
      << Step("device").detail;
  EXPECT_EQ(Remedy(), "drain the GPU and reset it");
  condition_.devices[0].uuid = FakeDriver::Uuid(1);
  EXPECT_EQ(Step("device").state, "ok") << "the loss is that of another GPU";
}

TEST_F(ExplainTest, Statement37IdMatchesNoDevice) {
  struct Row {
    std::string_view id, reason, remedy;
  };
  const Row rows[] = {
      {"fpga!", "unknown_id_form", "report the id"},
      {"GPU-11111111-1111-1111-1111-111111111111", "unknown_device", "compare the id"},
      {"MIG-11111111-1111-1111-1111-111111111111", "unknown_mig_uuid", "the instance is gone"},
  };
  for (const Row& row : rows) {
    Give({{"research", "train-0", "main", "nvidia.com/gpu", std::string(row.id)}});
    EXPECT_EQ(Step("match"),
              (ExplainedStep{"match", "unmatched",
                             "1 device id of pods on this node matches no device, the first: \"" +
                                 std::string(row.id) + "\" of nvidia.com/gpu (" +
                                 std::string(row.reason) + ")"}));
    EXPECT_TRUE(Remedy().starts_with(row.remedy)) << Remedy();
    EXPECT_TRUE(Ask().notes.at(0).starts_with("\"" + std::string(row.id) + "\" of nvidia.com/gpu"));
  }
  topology_->nvml_absence = "libnvidia-ml.so.1 is in none of 6 paths";
  EXPECT_TRUE(Remedy().starts_with("make libnvidia-ml.so.1 visible")) << Remedy();
}

TEST_F(ExplainTest, NamesTheClaimThatHoldsADevice) {
  PodAllocations answer{"v1", 41, {}};
  answer.claimed = {{.pod_namespace = "research",
                     .pod = "train-0",
                     .container = "main",
                     .claim_namespace = "research",
                     .claim = "one-gpu",
                     .driver = "gpu.nvidia.com",
                     .pool = "node-0",
                     .device = "gpu-0"}};
  pods_.value = std::make_shared<const PodAllocations>(std::move(answer));
  join_.claims = true;
  EXPECT_EQ(Step("match"),
            (ExplainedStep{"match", "unmatched",
                           "1 device id of pods on this node matches no device, the first: "
                           "\"node-0/gpu-0\" of gpu.nvidia.com (no_resource_slice)"}));
  EXPECT_TRUE(Remedy().starts_with("check `kubectl get resourceslices`")) << Remedy();
}

TEST_F(ExplainTest, ShowsHowAnIdMatches) {
  struct Row {
    std::string_view id, words;
  };
  const Row rows[] = {
      {"GPU-00000000-0000-0000-0000-000000000000::3", "by UUID"},
      {"GPU-00000000-0000-0000-0000-000000000000-_-3", "by UUID and the number of a share"},
      {"nvidia0", "by the number of its device file"},
      {"0", "by GPU id"},
      {"all", "by an id that stands for every GPU"},
  };
  for (const Row& row : rows) {
    Give({{"research", "train-0", "main", "nvidia.com/gpu", std::string(row.id)}});
    EXPECT_EQ(Step("match"), (ExplainedStep{"match", "ok",
                                            std::string(row.words) +
                                                "; DCGM rows carry namespace, pod and container"}))
        << row.id;
  }
}

TEST_F(ExplainTest, RowsCarryNoPodWithoutKubernetes) {
  view_.kubernetes = false;
  EXPECT_EQ(Step("match"), (ExplainedStep{"match", "ok",
                                          "by UUID; DCGM rows carry no pod without --kubernetes "
                                          "(-k); podgpu_allocation_info does"}));
  EXPECT_TRUE(Remedy().starts_with("start with --kubernetes"));
}

TEST_F(ExplainTest, RowsCarryNoPodOfASharedDevice) {
  std::vector<Allocation> shared;
  for (int i = 0; i < 6; ++i) {
    const std::string number = std::to_string(i);
    shared.push_back({"infer", "chat-" + number, "main", "nvidia.com/gpu.shared",
                      std::string(kGpuUuid) + "::" + number});
  }
  Give(shared);
  EXPECT_EQ(Step("match"),
            (ExplainedStep{"match", "ok",
                           "by UUID; DCGM rows carry no pod, since 6 owners share the "
                           "device; podgpu_allocation_info lists them"}));
  view_.virtual_gpus = true;
  EXPECT_EQ(Step("match"),
            (ExplainedStep{"match", "ok",
                           "by UUID; a copy of each DCGM row for each of 6 shares, since "
                           "--kubernetes-virtual-gpus asks for it"}));
  EXPECT_TRUE(Step("allocation")
                  .detail.ends_with(
                      "nvidia.com/gpu.shared to infer/chat-3 (main), and 2 more, as of 2.0 s ago"));
}

TEST_F(ExplainTest, CountsAContainerWithTwoSharesOnce) {
  const std::string resource = "nvidia.com/gpu.shared";
  Give({{"infer", "a-0", "main", resource, std::string(kGpuUuid) + "::0"},
        {"infer", "a-0", "main", resource, std::string(kGpuUuid) + "::1"},
        {"infer", "b-0", "main", resource, std::string(kGpuUuid) + "::2"}});
  EXPECT_EQ(Step("allocation").detail,
            "the kubelet gives nvidia.com/gpu.shared to infer/a-0 (main), nvidia.com/gpu.shared to "
            "infer/b-0 (main), as of 2.0 s ago");
  EXPECT_EQ(Step("match").detail,
            "by UUID; DCGM rows carry no pod, since 2 owners share the device; "
            "podgpu_allocation_info lists them");
}

TEST_F(ExplainTest, NamesTheResourceToAdd) {
  Give({{"ml", "a", "main", "example.com/gpu", "share-0-" + std::string(kGpuUuid)},
        {"ml", "b", "main", "example.com/gpu", "share-1-" + std::string(kGpuUuid)},
        {"ml", "c", "main", "example.com/fpga", "f0"}});
  EXPECT_EQ(Ask().notes,
            std::vector<std::string>{
                "a device id of example.com/gpu contains the UUID of a device of this node, but "
                "podgpu does not know this resource as a GPU, so its pods are no owners. Add "
                "example.com/gpu to --nvidia-resource-names, unless a scheduler gives the pod "
                "another GPU than the id names"});
}

TEST_F(ExplainTest, NamesTheReasonOfEachMissingValue) {
  struct Row {
    Absence absence;
    std::string_view state;
  };
  for (const Row& row : {Row{Absence::kNotSupported, "ok"}, Row{Absence::kNoData, "ok"},
                         Row{Absence::kStale, "withdrawn"}, Row{Absence::kNotWatched, "degraded"},
                         Row{Absence::kNotPermitted, "degraded"}}) {
    temperature_ = Value::OfAbsence(row.absence);
    const ExplainedStep step = Step("values");
    EXPECT_EQ(step.state, row.state);
    EXPECT_EQ(step.detail, "1 of 2 fields; 1 " + std::string(AbsenceName(row.absence)) + " (" +
                               std::string(AbsenceMeaning(row.absence)) +
                               "): DCGM_FI_DEV_GPU_TEMP");
  }
}

TEST_F(ExplainTest, Statement26EachReasonHasTheSameWordsInTextHtmlAndJson) {
  for (int i = 0; i < kAbsenceCount; ++i) {
    const auto absence = static_cast<Absence>(i);
    temperature_ = Value::OfAbsence(absence);
    ExplainQuery query = FirstGpu();
    query.metric = "DCGM_FI_DEV_GPU_TEMP";
    const Explanation explanation = Ask(query);
    const std::string words = "DCGM_FI_DEV_GPU_TEMP: " + std::string(AbsenceName(absence)) + " (" +
                              std::string(AbsenceMeaning(absence)) + ")";
    for (const std::string& form : {ExplanationText(explanation), ExplanationJson(explanation),
                                    ExplanationHtml(explanation, "gpu-node-0")}) {
      EXPECT_NE(form.find(words), std::string::npos) << words << "\n" << form;
    }
  }
}

TEST_F(ExplainTest, ExplainsOneMetric) {
  struct Row {
    std::string_view metric, state, detail;
  };
  const Row rows[] = {
      {"DCGM_FI_DEV_GPU_TEMP", "ok",
       "DCGM_FI_DEV_GPU_TEMP is 45 C, sampled 0.0 s before the reading"},
      {"DCGM_FI_DEV_POWER_USAGE", "ok",
       "DCGM_FI_DEV_POWER_USAGE is 212.5 W, sampled 0.0 s before the reading"},
      {"DCGM_FI_DEV_SM_CLOCK", "absent",
       "DCGM_FI_DEV_SM_CLOCK is not read: add the line \"DCGM_FI_DEV_SM_CLOCK, gauge, ...\" to "
       "the counters file"},
      {"DCGM_FI_DEV_GPU_TEMPERATURE", "absent",
       "DCGM has no field \"DCGM_FI_DEV_GPU_TEMPERATURE\"; use a name such as "
       "DCGM_FI_DEV_GPU_TEMP"},
  };
  for (const Row& row : rows) {
    ExplainQuery query = FirstGpu();
    query.metric = row.metric;
    EXPECT_EQ(Ask(query).devices.at(0).steps.back(),
              (ExplainedStep{"values", row.state, std::string(row.detail)}));
  }
  temperature_ = Value::OfAbsence(Absence::kNotSupported);
  ExplainQuery query = FirstGpu();
  query.metric = "DCGM_FI_DEV_GPU_TEMP";
  EXPECT_EQ(Ask(query).devices.at(0).steps.back().detail,
            "DCGM_FI_DEV_GPU_TEMP: not_supported (the device or the driver does not support it)");
  lacked_ = std::make_shared<const LackedFields>(LackedFields{{FindField(150)}, "NVML has none"});
  EXPECT_EQ(Ask(query).devices.at(0).steps.back().detail,
            "DCGM_FI_DEV_GPU_TEMP: not_supported (the device or the driver does not support it); "
            "NVML has none. Let DCGM read them (image podgpu-dcgm, or dcgm.library.image of the "
            "chart), or take them out of the list (--metrics-exclude)");
}

TEST_F(ExplainTest, ExplainsOnePod) {
  const Explanation explanation = Ask(OfPod("research", "train-0"));
  ASSERT_EQ(explanation.devices.size(), 1U);
  EXPECT_EQ(explanation.devices[0].gpu_id, 0U);
  EXPECT_EQ(Ask(OfPod("research", "train-1")).notes.at(0),
            "the kubelet gives no device to research/train-1 (it lists 41 pods): does a container "
            "of the pod have a limit of nvidia.com/gpu, and does the pod run on this node?");
  Give({{"research", "train-1", "main", "example.com/fpga", "f0"}});
  EXPECT_EQ(Ask(OfPod("research", "train-1")).notes.at(0),
            "the kubelet gives \"f0\" of example.com/fpga to research/train-1, and none of these "
            "is known as a GPU; for a resource that is a GPU, start with "
            "--nvidia-resource-names=example.com/fpga");
  join_.ignored.own = {"train-1", "research"};
  EXPECT_EQ(Ask(OfPod("research", "train-1")).notes.at(0),
            "research/train-1 is no owner, whatever it holds, since it is podgpu's own pod or one "
            "of --ignore-pods");
  pods_.value = nullptr;
  EXPECT_EQ(Ask(OfPod("research", "train-1")).notes.at(0),
            "the devices of research/train-1 are not known: the kubelet answers");
}

TEST_F(ExplainTest, HidesPodsOfOtherNamespaces) {
  visible_.chosen = {"team-b"};
  const Explanation explanation = Ask();
  EXPECT_EQ(ExplanationText(explanation).find("research"), std::string::npos);
  EXPECT_EQ(Step("allocation").detail, "held in another namespace, as of 2.0 s ago");
  EXPECT_EQ(Ask(OfPod("research", "train-0")).notes.at(0),
            "pods of namespace research are not shown here (--api-namespaces)");
  visible_.chosen.emplace_back("research");
  EXPECT_NE(ExplanationText(Ask()).find("research"), std::string::npos);
}

TEST_F(ExplainTest, ThereIsNoSuchDevice) {
  ExplainQuery query;
  query.gpu = 9;
  EXPECT_EQ(Ask(query).notes.at(0), "this node has no such device; its GPUs are 0, 1");
  *topology_ = FakeDriver::Gpus(0);
  Give({});
  EXPECT_EQ(Ask(query).notes.at(0), "the driver lists no GPU on this node");
}

TEST_F(ExplainTest, SaysWhatItWaitsForBeforeTheFirstReading) {
  Condition condition;
  condition.verdict = "not ready: libdcgm is in none of 6 paths";
  const ExplainFacts facts{nullptr, &condition, pods_,    now_, seconds(90), seconds(60),
                           join_,   view_,      visible_, use_, timeline_,   wall_now_};
  EXPECT_EQ(Explain(facts, {}).notes.at(0),
            "no device is known: not ready: libdcgm is in none of 6 paths");
}

}  // namespace
}  // namespace podgpu
