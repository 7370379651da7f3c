#include "cli/doctor_flags.h"

#include <map>

#include <gtest/gtest.h>

namespace podgpu {
namespace {

StatusOr<DoctorCommand> ParseDoctor(const std::vector<std::string>& arguments,
                                    const std::map<std::string, std::string>& variables = {}) {
  return ParseDoctorFlags(arguments, [&](const std::string& name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional<std::string>(found->second);
  });
}

TEST(DoctorFlags, HaveOneTask) {
  const StatusOr<DoctorCommand> command =
      ParseDoctor({"--enable-accounting", "--libnvidia-ml=/lib/x"});
  ASSERT_TRUE(command.ok()) << command.status();
  EXPECT_TRUE(command->enable_accounting);
  EXPECT_EQ(command->nvml_library, "/lib/x");
  EXPECT_TRUE(ParseDoctor({}, {{"PODGPU_ENABLE_ACCOUNTING", "true"}})->enable_accounting);
}

TEST(DoctorFlags, NameTheTaskWhenNoneIsGiven) {
  const Status status = ParseDoctor({}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("It has one: --enable-accounting"), std::string::npos) << status;
  EXPECT_FALSE(ParseDoctor({"--enable-accounting", "now"}).ok());
  EXPECT_FALSE(ParseDoctor({"--fix"}).ok());
}

TEST(DoctorFlags, HelpNeedsNoTask) {
  EXPECT_TRUE(ParseDoctor({"--help"})->wants_help);
  EXPECT_TRUE(ParseDoctor({"help"})->wants_help);
  EXPECT_NE(DoctorHelpText().find("--enable-accounting"), std::string::npos);
}

}  // namespace
}  // namespace podgpu
