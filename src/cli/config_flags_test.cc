#include "cli/config_flags.h"

#include <map>

#include <gtest/gtest.h>

#include "base/testing/temporary_folder.h"

namespace podgpu {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Reads a command with one configuration, c.yaml; its path stands for {} in the arguments.
class ConfigFlagsTest : public ::testing::Test {
 protected:
  StatusOr<NodeCommand> Read(const std::string& config,
                             std::vector<std::string> arguments = {}) const {
    arguments.push_back("--config-file=" + folder_.Write("c.yaml", config));
    return ReadNodeCommand(arguments, Variables(), files_);
  }
  Environment Variables() const {
    return [this](const std::string& name) {
      const auto found = variables_.find(name);
      return found == variables_.end() ? std::nullopt : std::optional(found->second);
    };
  }
  // Returns a message without the path of the folder.
  std::string Short(std::string message) const {
    for (size_t at = 0; (at = message.find(folder_.path() + "/")) != std::string::npos;) {
      message.erase(at, folder_.path().size() + 1);
    }
    return message;
  }
  std::string Refusal(const std::string& config) const {
    const StatusOr<NodeCommand> command = Read(config);
    return command.ok() ? "accepted" : Short(std::string(command.status().message()));
  }

  std::map<std::string, std::string> variables_;
  const TemporaryFolder folder_;
  const SystemFiles files_;
};

constexpr char kInterval[] = "version: 1\ncollection: {interval: 45s}\n";

TEST_F(ConfigFlagsTest, AFlagWinsOverAVariableAndAVariableOverTheFile) {
  EXPECT_EQ(Read(kInterval)->exporter.collect_interval, seconds(45));
  variables_["DCGM_EXPORTER_INTERVAL"] = "";
  EXPECT_EQ(Read(kInterval)->exporter.collect_interval, seconds(45));
  variables_["DCGM_EXPORTER_INTERVAL"] = "20000";
  EXPECT_EQ(Read(kInterval)->exporter.collect_interval, seconds(20));
  EXPECT_EQ(Read(kInterval, {"-c", "5000"})->exporter.collect_interval, seconds(5));
  EXPECT_EQ(Read("version: 2\n")->exporter.collect_interval, seconds(20));
  variables_.clear();
  EXPECT_EQ(Read("version: 2\n")->exporter.collect_interval, seconds(30));
  variables_["DCGM_EXPORTER_CONFIG_FILE"] = folder_.Write("d.yaml", kInterval);
  EXPECT_EQ(ReadNodeCommand({}, Variables(), files_)->exporter.collect_interval, seconds(45));
}

constexpr char kFields[] =
    "version: 2\n"
    "metrics:\n"
    "  fields:\n"
    "    - {name: DCGM_FI_DEV_GPU_TEMP, prometheusType: gauge, help: t}\n";

TEST_F(ConfigFlagsTest, AnotherListReplacesTheFieldsOfTheFile) {
  const StatusOr<NodeCommand> alone = Read(kFields);
  ASSERT_TRUE(alone->counters.list.has_value());
  EXPECT_EQ(alone->counters.list->counters.size(), 1U);
  EXPECT_EQ(Short(alone->counters.path), "c.yaml");
  EXPECT_TRUE(Read(kFields, {"-m", "ns:name"})->counters.list.has_value())
      << "until the ConfigMap can be read";
  for (const std::vector<std::string>& other :
       std::vector<std::vector<std::string>>{{"-f", "/other.csv"}, {"-m", "none"}}) {
    const StatusOr<NodeCommand> command = Read(kFields, other);
    EXPECT_FALSE(command->counters.list.has_value()) << other[1];
    EXPECT_EQ(command->counters.path, other[1] == "none" ? "" : other[1]);
    ASSERT_EQ(command->idle_flags.size(), 1U);
    EXPECT_EQ(
        Short(command->idle_flags.front()),
        "c.yaml: metrics.fields has no effect: --collectors or --configmap-data names another "
        "list. Remove one");
  }
  EXPECT_EQ(Read("version: 2\nmetrics: {file: /x.csv}\n")->counters.path, "/x.csv");
}

TEST_F(ConfigFlagsTest, NamesTheKeyOfASettingWithoutEffect) {
  const StatusOr<NodeCommand> command = Read("version: 2\nserver:\n  maxConcurrentScrapes: 3\n");
  ASSERT_EQ(command->idle_flags.size(), 1U);
  EXPECT_EQ(Short(command->idle_flags.front()).substr(0, 53),
            "c.yaml:3: server.maxConcurrentScrapes has no effect: ");
}

TEST_F(ConfigFlagsTest, RefusesMistakesWithTheirPlace) {
  EXPECT_EQ(
      Refusal("version: 1\ncollection:\n  interval: 2h\n"),
      "c.yaml:3: collection.interval: \"2h\" is refused: must be 100 to 3600000 milliseconds, "
      "or as long a duration such as 5s");
  EXPECT_EQ(Refusal("version: 3\n"),
            "c.yaml:1: version: \"3\" is neither 1 nor 2. podgpu knows these two");
  EXPECT_EQ(
      ReadNodeCommand(std::vector<std::string>{"--config-file=/no/such.yaml"}, Variables(), files_)
          .status()
          .message(),
      "--config-file: /no/such.yaml: No such file or directory. Correct the path, or remove "
      "the flag");
  EXPECT_EQ(ReadNodeCommand(std::vector<std::string>{"--config-file= "}, Variables(), files_)
                .status()
                .message(),
            "--config-file: \" \" is refused: must be the path of a YAML file");
}

// A wrong file must not hide the help.
TEST_F(ConfigFlagsTest, HelpAndVersionDoNotReadIt) {
  variables_["DCGM_EXPORTER_CONFIG_FILE"] = "/no/such.yaml";
  for (const char* argument : {"--help", "--version", "help"}) {
    EXPECT_TRUE(ReadNodeCommand(std::vector<std::string>{argument}, Variables(), files_).ok());
  }
  for (const char* argument : {"--help", "--enable-accounting"}) {
    EXPECT_TRUE(ReadDoctorCommand(std::vector<std::string>{argument}, Variables(), files_).ok());
  }
  EXPECT_FALSE(ReadNodeCommand({}, Variables(), files_).ok());
  EXPECT_FALSE(ReadDoctorCommand({}, Variables(), files_).ok());
}

TEST_F(ConfigFlagsTest, TheDoctorReadsItToo) {
  const StatusOr<DoctorCommand> command = ReadDoctorCommand(
      std::vector<std::string>{"--config-file=" + folder_.Write("c.yaml", kInterval)}, Variables(),
      files_);
  EXPECT_EQ(command->node.exporter.collect_interval, seconds(45));
  EXPECT_EQ(command->node.config.settings.size(), 1U);
}

}  // namespace
}  // namespace podgpu
