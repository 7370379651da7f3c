// The help texts: one screen, groups, and the document of all flags.
#include "cli/help.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include <gtest/gtest.h>

#include "base/files.h"
#include "base/text.h"
#include "cli/flag_table.h"
#include "cli/roles.h"

namespace podgpu {
namespace {

TEST(Help, IsOneScreen) {
  const std::string help = HelpText("").value();
  const std::vector<std::string_view> lines = Split(help, '\n');
  EXPECT_LE(lines.size(), 41U) << "40 lines, and the end of the last one";
  for (const std::string_view line : lines) {
    EXPECT_LE(line.size(), 80U) << line;
  }
  for (const Role& role : Roles()) {
    EXPECT_NE(help.find(role.meaning), std::string::npos) << role.name;
  }
  for (const FlagGroup& group : FlagGroups()) {
    EXPECT_NE(help.find(group.meaning), std::string::npos) << group.name;
  }
}

TEST(Help, CommonFlagsAreWrittenAsTheParserReadsThem) {
  EXPECT_EQ(CommonFlags().size(), 10U);
  for (const CommonFlag& common : CommonFlags()) {
    const auto flag = std::ranges::find(FlagTable(), common.name, &Flag::name);
    ASSERT_NE(flag, FlagTable().end()) << common.name;
    EXPECT_NE(common.form.find("--" + std::string(flag->name)), std::string::npos);
    EXPECT_EQ(common.form.starts_with("-"), !flag->alias.empty()) << common.form;
    EXPECT_TRUE(flag->alias.empty() ||
                common.form.starts_with("-" + std::string(flag->alias) + ", "))
        << common.form;
  }
}

TEST(Help, OfAGroupHasItsFlags) {
  for (const FlagGroup& group : FlagGroups()) {
    const std::string text = HelpText(group.name).value();
    for (const Flag& flag : group.flags) {
      const std::string line = "  --" + std::string(flag.name);
      EXPECT_NE(text.find(line), std::string::npos) << flag.name;
      EXPECT_NE(HelpText("all")->find(line), std::string::npos) << flag.name;
    }
  }
}

TEST(Help, FlagsWithoutAnEffectAreInTheGroupCompatibility) {
  for (const FlagGroup& group : FlagGroups()) {
    for (const Flag& flag : group.flags) {
      EXPECT_EQ(flag.help.starts_with("Accepted"), group.name == "compatibility") << flag.name;
    }
  }
}

TEST(Help, NamesTheNearestGroup) {
  EXPECT_EQ(HelpText("kubernets").status().message(),
            "--help: there is no group \"kubernets\"; nearest is kubernetes. podgpu --help lists "
            "the groups");
}

TEST(Help, TheDocumentMatchesTheTables) {
  const std::string path = "docs/flags.md";
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the test has one thread.
  if (std::getenv("PODGPU_UPDATE_GOLDEN") != nullptr) {
    std::ofstream(path) << FlagsDocument();
  }
  EXPECT_EQ(SystemFiles().Read(path).value_or(""), FlagsDocument())
      << "run with PODGPU_UPDATE_GOLDEN=1";
}

}  // namespace
}  // namespace podgpu
