#include "cli/man_page.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "base/roff.h"
#include "base/text.h"
#include "cli/cluster_flags.h"
#include "cli/doctor_flags.h"
#include "cli/flag_table.h"
#include "cli/roles.h"

namespace podgpu {
namespace {

// The text of one section, from its heading to the next.
std::string SectionOfPage(std::string_view heading) {
  const std::string page = ManPage();
  const std::string mark = "\n.SH " + std::string(heading) + "\n";
  const size_t begin = page.find(mark);
  if (begin == std::string::npos) {
    return "";
  }
  const size_t end = page.find("\n.SH ", begin + mark.size());
  return page.substr(begin, end == std::string::npos ? end : end - begin);
}

// Every row of `flags` has an entry with its help and its variable.
void ExpectEveryFlag(std::string_view heading, const std::vector<FlagText>& flags) {
  const std::string section = SectionOfPage(heading);
  ASSERT_FALSE(flags.empty());
  for (const FlagText& flag : flags) {
    const size_t at =
        section.find("\n.TP\n\\fB" + RoffText("--" + std::string(flag.name)) + "\\fR");
    ASSERT_NE(at, std::string::npos) << heading << " lacks --" << flag.name;
    const std::string entry = section.substr(at, section.find("\n.TP\n", at + 1) - at);
    EXPECT_NE(entry.find(RoffText(flag.help)), std::string::npos) << entry;
    EXPECT_NE(entry.find(std::string(flag.variable)), std::string::npos) << entry;
    EXPECT_NE(entry.find(RoffText(flag.default_text)), std::string::npos) << entry;
    EXPECT_NE(entry.find(RoffText(flag.alias)), std::string::npos) << entry;
  }
}

TEST(ManPage, HasEveryFlagOfEachCommand) {
  ExpectEveryFlag("OPTIONS", FlagTexts(FlagTable()));
  ExpectEveryFlag("OPTIONS OF PODGPU CLUSTER", FlagTexts(ClusterFlagTable()));
  ExpectEveryFlag("OPTIONS OF PODGPU DOCTOR", FlagTexts(DoctorFlagTable()));
}

TEST(ManPage, HasEveryCommand) {
  const std::string section = SectionOfPage("COMMANDS");
  for (const Role& role : Roles()) {
    EXPECT_NE(section.find("\n.B " + std::string(role.name) + "\n" + RoffText(role.meaning)),
              std::string::npos)
        << role.name;
  }
}

TEST(ManPage, UsesOnlyKnownRequests) {
  const std::string page = ManPage();
  for (const std::string_view line : Split(page, '\n')) {
    if (line.starts_with('.')) {
      const std::string_view request = line.substr(0, line.find(' '));
      EXPECT_TRUE(request == ".TH" || request == ".SH" || request == ".TP" || request == ".PP" ||
                  request == ".br" || request == ".B" || request == ".I" || request == ".BR")
          << line;
    }
    EXPECT_FALSE(line.starts_with('\'')) << line;
  }
}

}  // namespace
}  // namespace podgpu
