#include "process/proc_stat.h"

#include <string>

#include <gtest/gtest.h>

namespace podgpu {
namespace {

// Fields 3 to 52 behind a name, with field 22 as given.
std::string StatLine(const std::string& head, const std::string& start) {
  return head + " S 1 4101 4101 0 -1 4194560 1 0 0 0 2 3 0 0 20 0 4 0 " + start +
         " 8000000 500 18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 3 0 0 0 0 0 0 0 0 0 0 0 0 "
         "0\n";
}

TEST(ProcStat, FindsNameAndStartWhateverTheNameIs) {
  const std::string names[] = {"python3", "tmux: server", "(sd-pam)", "a) S 1 2 3", "", "(((",
                               ")",       "x\ny) R 9",    "\xff\x01"};
  for (const std::string& name : names) {
    const std::string text = StatLine("4101 (" + name + ")", "987654");
    EXPECT_EQ(ParseProcStat(text), (ProcStat{.name = name, .start_ticks = 987'654})) << name;
  }
}

TEST(ProcStat, RefusesMalformedText) {
  const std::string texts[] = {"",
                               "4101",
                               "4101 (python3",
                               "4101 )python3( S 1",
                               "4101 (python3) S 1 2",
                               StatLine("4101 (python3)", "-5"),
                               StatLine("4101 (python3)", "99999999999999999999999")};
  for (const std::string& text : texts) {
    EXPECT_FALSE(ParseProcStat(text).has_value()) << text;
  }
}

TEST(ProcStat, ReadsThePidInAnInnerNamespace) {
  const struct {
    const char* status;
    std::optional<uint32_t> pid;
  } rows[] = {
      {"Name:\tpython3\nPid:\t4101\nNSpid:\t4101\t7\nNSpgid:\t4101\t7\n", 7},
      {"NSpid:\t4101\t20\t1\n", 1},
      {"NSpid:\t4101\n", std::nullopt},
      {"Name:\tNSpid:\t1\t2\n", std::nullopt},
      {"NSpid:\t4101\tx\n", std::nullopt},
      {"NSpid:\t4101\t99999999999\n", std::nullopt},
      {"NSpid:", std::nullopt},
      {"", std::nullopt},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(ParseInnerPid(row.status), row.pid) << row.status;
  }
}

TEST(ProcStat, ReadsTheBootTime) {
  EXPECT_EQ(ParseBootSeconds("cpu  1 2 3\nintr 5 6\nctxt 7\nbtime 1700000000\nprocesses 9\n"),
            1'700'000'000U);
  EXPECT_FALSE(ParseBootSeconds("cpu  1 2 3\n").has_value());
  EXPECT_FALSE(ParseBootSeconds("btime soon\n").has_value());
}

TEST(ProcStat, MakesNamesFitForLabels) {
  using std::string_literals::operator""s;
  const struct {
    std::string comm, cmdline, name;
  } rows[] = {
      {"python3", "/usr/bin/python3\0train.py\0"s, "python3"},
      {"a\nb\x7f"
       "c",
       "", "a b c"},
      {"\xff\xfe", "", "\xEF\xBF\xBD\xEF\xBF\xBD"},
      {"", "/opt/my app/run\0-x\0"s, "run"},
      {" ", "run\0"s, "run"},
      {"", "/bin/\0"s, ""},
      {"", "", ""},
      {"\"} 1\n", "", "\"} 1 "},
      {"fifteen-bytes-\xC3", "", "fifteen-bytes-\xEF\xBF\xBD"},  // The kernel cuts anywhere.
      {std::string(70, 'x'), "", std::string(64, 'x')},
      {std::string(63, 'x') + "\xC3\xA4", "", std::string(63, 'x')},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(ProcessName(row.comm, row.cmdline), row.name) << row.name;
  }
}

}  // namespace
}  // namespace podgpu
