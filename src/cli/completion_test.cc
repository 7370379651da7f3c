#include "cli/completion.h"

#include <algorithm>
#include <string>

#include <gtest/gtest.h>

#include "base/text.h"
#include "cli/flag_table.h"

namespace podgpu {
namespace {

TEST(Completion, OfEachShellHasEveryFlag) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const StatusOr<std::string> script = CompletionScript(shell);
    ASSERT_TRUE(script.ok()) << script.status();
    for (const Flag& flag : FlagTable()) {
      const std::string name =
          (std::string_view(shell) == "fish" ? "-l " : "--") + std::string(flag.name);
      EXPECT_NE(script->find(name), std::string::npos) << shell << " " << name;
    }
  }
}

TEST(Completion, WordsOfHelpDoNotEndTheQuotesOfAShell) {
  for (const char* shell : {"zsh", "fish"}) {
    const std::string script = CompletionScript(shell).value();
    for (const std::string_view line : Split(script, '\n')) {
      EXPECT_EQ(std::count(line.begin(), line.end(), '\'') % 2, 0) << shell << ": " << line;
    }
  }
}

TEST(Completion, OfAnotherShellIsRefusedInOneLine) {
  const StatusOr<std::string> script = CompletionScript("tcsh");
  ASSERT_FALSE(script.ok());
  EXPECT_EQ(script.status().message(),
            "completion is there for bash, zsh and fish, not for \"tcsh\". See podgpu --help");
}

}  // namespace
}  // namespace podgpu
