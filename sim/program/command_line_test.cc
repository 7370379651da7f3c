#include "sim/program/command_line.h"

#include <gtest/gtest.h>

namespace podgpu::sim {
namespace {

StatusOr<int> Nothing(const Arguments& /*arguments*/) { return 0; }

constexpr Flag kFlags[] = {{"--dir", "DIR", "where"}, {"--manual", "", "no clock"}};
constexpr Command kCommands[] = {
    {"run", "SCENARIO", 1, 1, "run a node", kFlags, Nothing, nullptr, true},
    {"heal", "", 0, 0, "undo", {}, Nothing},
};

TEST(ParseArguments, TakesFlagsInBothFormsAndAnywhere) {
  const std::vector<std::string> words = {"--dir", "a", "demo", "--manual", "--dir=b=c"};
  const StatusOr<Arguments> arguments = ParseArguments(kCommands[0], words);
  ASSERT_TRUE(arguments.ok()) << arguments.status();
  EXPECT_EQ(arguments->operands, std::vector<std::string>{"demo"});
  EXPECT_EQ(arguments->Get("--dir"), "b=c");
  EXPECT_TRUE(arguments->Has("--manual"));
  EXPECT_FALSE(arguments->Get("--speed").has_value());
}

TEST(ParseArguments, LeavesTheWordsOfAProgramAlone) {
  const std::vector<std::string> words = {"demo", "--manual", "--", "podgpu", "--", "--dir"};
  const StatusOr<Arguments> arguments = ParseArguments(kCommands[0], words);
  ASSERT_TRUE(arguments.ok()) << arguments.status();
  EXPECT_EQ(arguments->operands, std::vector<std::string>{"demo"});
  EXPECT_EQ(arguments->program, (std::vector<std::string>{"podgpu", "--", "--dir"}));
  EXPECT_EQ(ParseArguments(kCommands[1], std::vector<std::string>{"--", "ls"}).status().message(),
            "podgpu-sim heal: unknown flag --; see `podgpu-sim heal --help`");
}

TEST(ParseArguments, RefusesUnknownWordsInOneLine) {
  struct Case {
    std::vector<std::string> words;
    const char* message;
  };
  const Case cases[] = {
      {{"demo", "--dirr", "x"}, "podgpu-sim run: unknown flag --dirr; nearest is --dir"},
      {{"demo", "--zzzzzzzz"},
       "podgpu-sim run: unknown flag --zzzzzzzz; see `podgpu-sim run --help`"},
      {{"demo", "--dir"}, "podgpu-sim run: --dir needs a value, DIR"},
      {{"demo", "--manual=yes"}, "podgpu-sim run: --manual takes no value"},
      {{}, "podgpu-sim run: SCENARIO is missing; see `podgpu-sim run --help`"},
      {{"a", "b"}, "podgpu-sim run: unexpected operand \"b\"; see `podgpu-sim run --help`"},
  };
  for (const Case& c : cases) {
    const StatusOr<Arguments> arguments = ParseArguments(kCommands[0], c.words);
    EXPECT_EQ(arguments.status().message(), c.message);
    EXPECT_TRUE(absl::IsInvalidArgument(arguments.status()));
  }
}

TEST(FindCommand, NamesTheNearestCommand) {
  EXPECT_EQ(*FindCommand(kCommands, "heal"), &kCommands[1]);
  EXPECT_EQ(FindCommand(kCommands, "haal").status().message(),
            "podgpu-sim: unknown command \"haal\"; nearest is heal");
  EXPECT_EQ(FindCommand(kCommands, "--version").status().message(),
            "podgpu-sim: unknown command \"--version\"; see `podgpu-sim --help`");
}

TEST(Help, ListsEveryCommandAndEveryFlag) {
  const std::string program = ProgramHelp(kCommands);
  for (const Command& command : kCommands) {
    EXPECT_NE(program.find("  " + std::string(command.name) + " "), std::string::npos);
  }
  EXPECT_EQ(CommandHelp(kCommands[0]),
            "run a node\n\nusage: podgpu-sim run SCENARIO [FLAGS] [-- PROGRAM "
            "[ARGUMENT...]]\n\n"
            "  --dir DIR            where\n"
            "  --manual             no clock\n");
  EXPECT_EQ(CommandHelp(kCommands[1]), "undo\n\nusage: podgpu-sim heal\n");
}

}  // namespace
}  // namespace podgpu::sim
