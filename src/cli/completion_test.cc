#include "cli/completion.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "base/text.h"
#include "cli/flag_table.h"
#include "cli/roles.h"

namespace podgpu {
namespace {

// The number of times that `part` is in `text`.
size_t CountOf(std::string_view part, std::string_view text) {
  size_t count = 0;
  for (size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

// Bash and zsh have the node's flags twice: with the word "node" and without it.
TEST(Completion, HasEveryFlagOfEachRoleInEachShell) {
  size_t flags = 0;
  for (const Role& role : Roles()) {
    flags += role.flags == nullptr ? 0 : role.flags().size();
  }
  const size_t of_node = FlagTable().size();
  ASSERT_GT(flags, 2 * of_node) << "the doctor has those of the node too";
  EXPECT_EQ(CountOf(" --", CompletionScript("bash").value()), flags + of_node + 1);
  EXPECT_EQ(CountOf("    '--", CompletionScript("zsh").value()), flags + of_node);
  EXPECT_EQ(CountOf(" -l ", CompletionScript("fish").value()), flags);
}

// Returns the completions that bash offers for a command line.
std::string OfferedByBash(const std::string& words, int position) {
  const std::string script = CompletionScript("bash").value();
  const std::string path = ::testing::TempDir() + "podgpu-completion.bash";
  std::ofstream(path) << script << "COMP_WORDS=(" << words << "); COMP_CWORD=" << position
                      << "; _podgpu; printf '%s ' \"${COMPREPLY[@]}\"\n";
  const std::string command = "bash " + path;
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(::popen(command.c_str(), "r"), ::pclose);
  std::string offered;
  for (int c = std::fgetc(pipe.get()); c != EOF; c = std::fgetc(pipe.get())) {
    offered += static_cast<char>(c);
  }
  std::remove(path.c_str());
  return offered;
}

TEST(Completion, OffersTheClusterRolesOwnFlags) {
  EXPECT_EQ(OfferedByBash("podgpu cluster --node-w", 2),
            "--node-web-config --node-withdraw-after ");
  EXPECT_EQ(OfferedByBash("podgpu cluster --nodes=file:/n --pod", 3), "--pod-map-deprecated ");
  EXPECT_EQ(OfferedByBash("podgpu --kubernetes-enable-d", 1), "--kubernetes-enable-dra ");
  EXPECT_EQ(OfferedByBash("podgpu node --kubernetes-enable-d", 2), "--kubernetes-enable-dra ");
  EXPECT_EQ(OfferedByBash("podgpu cl", 1), "cluster ");
  for (const char* shell : {"zsh", "fish"}) {
    const std::string script = CompletionScript(shell).value();
    EXPECT_NE(script.find("node-withdraw-after"), std::string::npos) << shell;
  }
}

TEST(Completion, OffersTheDoctorsFlagsAndThoseOfTheExporter) {
  EXPECT_EQ(OfferedByBash("podgpu doctor --report", 2), "--report --report-pods --report-for ");
  EXPECT_EQ(OfferedByBash("podgpu doctor --kubernetes-enable-d", 2), "--kubernetes-enable-dra ");
  EXPECT_EQ(OfferedByBash("podgpu --report", 1), " ") << "the exporter has no such flag";
  for (const char* shell : {"zsh", "fish"}) {
    const std::string script = CompletionScript(shell).value();
    EXPECT_NE(script.find("report-pods"), std::string::npos) << shell;
  }
}

TEST(Completion, KeepsShellQuotesBalanced) {
  for (const char* shell : {"zsh", "fish"}) {
    const std::string script = CompletionScript(shell).value();
    for (const std::string_view line : Split(script, '\n')) {
      EXPECT_EQ(std::count(line.begin(), line.end(), '\'') % 2, 0) << shell << ": " << line;
    }
  }
}

TEST(Completion, RefusesAnotherShellInOneLine) {
  const StatusOr<std::string> script = CompletionScript("tcsh");
  ASSERT_FALSE(script.ok());
  EXPECT_EQ(script.status().message(),
            "completion supports bash, zsh and fish, not \"tcsh\". See podgpu --help");
}

}  // namespace
}  // namespace podgpu
