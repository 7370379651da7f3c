#include "doctor/text_form.h"

#include <gtest/gtest.h>

namespace podgpu {
namespace {

DoctorResult ResultOf(std::vector<CheckResult> checks) {
  return {
      .version = "1.0.0", .host = "gpu-node-7", .in_container = true, .checks = std::move(checks)};
}

CheckResult Good(std::string_view id, std::string_view section) {
  return {id, section, Finding::Ok("1 of 1")};
}

CheckResult Skipped(std::string_view id, std::string_view section, std::string cause) {
  CheckResult check{id, section, Finding::Skip("")};
  check.finding.caused_by = std::move(cause);
  return check;
}

CheckResult Warned() {
  return {"driver.nodes",
          "Driver",
          {.severity = Severity::kWarn,
           .fact = "8 of 9 device files readable",
           .lose = {"some_devices", "xid"},
           .remedy = "first \\\nsecond",
           .change = "all files"}};
}

TEST(DoctorText, ShowsAllWhenThereIsNothingToSay) {
  const DoctorResult result = ResultOf({Good("host.kernel", "Host"), Good("host.clock", "Host")});
  EXPECT_EQ(AsText(result, {}),
            "podgpu 1.0.0 doctor, gpu-node-7, in a container\n"
            "Host\n"
            "  ok    host.kernel           1 of 1\n"
            "  ok    host.clock            1 of 1\n"
            "Gives: self metrics only.\n"
            "2 ok, 0 note, 0 warn, 0 fail, 0 skipped in 0.00 s; exit 0\n");
}

TEST(DoctorText, FoldsWhatIsQuietWhenSomethingIsToSay) {
  const DoctorResult result =
      ResultOf({Good("host.kernel", "Host"), Warned(), Skipped("gpu.mig", "GPUs", "driver.nodes"),
                Skipped("gpu.states", "GPUs", "driver.nodes")});
  const std::string text = AsText(result, {});
  EXPECT_NE(text.find("\nHost         1 ok\n"), std::string::npos) << text;
  EXPECT_NE(text.find("\nGPUs         2 skipped because of driver.nodes\n"), std::string::npos);
  EXPECT_NE(text.find("  warn  driver.nodes          8 of 9 device files readable\n"
                      "        lose: the values of the devices that are named here, XID\n"
                      "        do:   first \\\n"
                      "              second\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("\nMost useful change: all files (driver.nodes).\n"), std::string::npos);
  EXPECT_NE(AsText(result, {.verbose = true}).find("  skip  gpu.mig               because of "),
            std::string::npos);
}

TEST(DoctorText, SkipsWithOneCauseFoldFromThreeOn) {
  const DoctorResult result =
      ResultOf({Warned(), Skipped("a", "Driver", "driver.nodes"),
                Skipped("b", "Driver", "driver.nodes"), Skipped("c", "Driver", "driver.nodes")});
  EXPECT_NE(AsText(result, {}).find("\n        3 skipped because of driver.nodes\n"),
            std::string::npos);
}

TEST(DoctorText, NoLineIsWiderThanTheTerminal) {
  CheckResult check = Warned();
  check.finding.fact = std::string(150, 'x') + " and " + std::string(40, 'y') + " \xC3\xA9";
  const std::string text = AsText(ResultOf({check}), {.width = 60});
  size_t begin = 0;
  for (size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', begin)) {
    EXPECT_LE(end - begin, 60U) << text.substr(begin, end - begin);
    begin = end + 1;
  }
  EXPECT_NE(text.find(" ?\n"), std::string::npos) << "not ASCII: " << text;
}

TEST(DoctorText, PaintsTheStatusWordAlone) {
  EXPECT_NE(AsText(ResultOf({Warned()}), {.colour = true})
                .find("  \033[33mwarn\033[0m  driver.nodes          8 of 9"),
            std::string::npos);
}

}  // namespace
}  // namespace podgpu
