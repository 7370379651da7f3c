#include "doctor/support_report.h"

#include <gtest/gtest.h>

#include "doctor/doctor.h"

namespace podgpu {
namespace {

TEST(SupportReport, ReplacesWholeNames) {
  NameVeil veil;
  veil.AddPod("trainer-0");
  veil.AddNamespace("ml");
  veil.AddPod("trainer-0");
  veil.AddPod("trainer-00");
  EXPECT_EQ(veil.Over("ml/trainer-0 holds it; trainer-00, xml, \"ml\""),
            "namespace-1/pod-1 holds it; pod-2, xml, \"namespace-1\"");
}

TEST(SupportReport, LeavesOutPasswords) {
  EXPECT_EQ(WithoutPassword("https://me:secret@host:1/p"), "https://...@host:1/p");
  EXPECT_EQ(WithoutPassword("me:secret@host"), "...@host");
  EXPECT_EQ(WithoutPassword(":9400"), ":9400");
}

TEST(SupportReport, KeepsMetricsAboutTheExporterAlone) {
  EXPECT_EQ(SelfMetricsIn("# HELP x\nprocess_cpu_seconds_total 1\npodgpu_ready 1\n"
                          "podgpu_pod_gpu{pod=\"a\"} 1\nDCGM_FI_DEV_GPU_TEMP 30\n"),
            "process_cpu_seconds_total 1\npodgpu_ready 1\n");
}

TEST(Doctor, OnlyNamesIdsOrTheirFirstPart) {
  EXPECT_TRUE(CheckOnly({"kube", "gpu.states"}).ok());
  EXPECT_EQ(CheckOnly({"gpu.state"}).message(),
            "--only: no check has the id \"gpu.state\"; nearest is gpu.states. podgpu doctor -v "
            "lists all");
  EXPECT_FALSE(CheckOnly({"gp"}).ok());
}

TEST(Doctor, ColourIsForTerminalsThatWantIt) {
  const auto none = [](const std::string&) { return std::optional<std::string>(); };
  const auto all = [](const std::string& name) {
    return std::optional<std::string>(name == "TERM" ? "dumb" : "1");
  };
  EXPECT_TRUE(UsesColour(ColourUse::kAuto, true, none));
  EXPECT_FALSE(UsesColour(ColourUse::kAuto, false, none));
  EXPECT_FALSE(UsesColour(ColourUse::kAuto, true, all));
  EXPECT_TRUE(UsesColour(ColourUse::kAlways, false, all));
  EXPECT_FALSE(UsesColour(ColourUse::kNever, true, none));
}

}  // namespace
}  // namespace podgpu
