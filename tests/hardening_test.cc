// The program as built: the measures against memory corruption are present with every compiler and
// preset (cmake/Hardening.cmake), and the functions of a node lie together in the release
// (cmake/Placement.cmake).
#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include <boost/json.hpp>
#include <gtest/gtest.h>

#include "tests/e2e/child.h"

namespace podgpu {
namespace {

constexpr const char* kProgram = PODGPU_BINARY_DIR "/bin/podgpu";

// The output of a binutils tool about the program.
std::string Told(std::vector<std::string> command) {
  command.emplace_back(kProgram);
  Child tool(command);
  EXPECT_EQ(tool.Wait(), 0) << tool.output();
  return tool.output();
}

// The first line of `text` with `part` in it.
std::string LineWith(const std::string& text, std::string_view part) {
  const size_t at = text.find(part);
  if (at == std::string::npos) {
    return {};
  }
  const size_t begin = text.rfind('\n', at) + 1;
  return text.substr(begin, text.find('\n', at) - begin);
}

TEST(Hardening, TheProgramIsPositionIndependentAndItsTablesAreReadOnly) {
  const std::string headers = Told({"readelf", "-hldW"});
  EXPECT_NE(LineWith(headers, "Type:").find("DYN (Position-Independent Executable"),
            std::string::npos)
      << LineWith(headers, "Type:");
  EXPECT_NE(headers.find("GNU_RELRO"), std::string::npos);
  const std::string flags = LineWith(headers, "(FLAGS_1)");
  EXPECT_NE(flags.find("NOW"), std::string::npos) << flags;
  EXPECT_NE(flags.find("PIE"), std::string::npos) << flags;
  const std::string stack = LineWith(headers, "GNU_STACK");
  EXPECT_NE(stack.find(" RW "), std::string::npos) << stack;
  EXPECT_EQ(headers.find(" RWE "), std::string::npos)
      << "no segment is both writable and executable";
}

TEST(Hardening, FunctionsCheckTheirStackAndTheirEntry) {
  const std::string symbols = Told({"readelf", "--dyn-syms", "-W"});
  EXPECT_NE(symbols.find(" __stack_chk_fail"), std::string::npos);
#if PODGPU_FORTIFIED
  EXPECT_NE(symbols.find("_chk@GLIBC"), std::string::npos);
#endif
#if defined(__x86_64__)
  // Checks the program's own functions; the C runtime of Debian 12 has no such marks, so the linker
  // writes no note for the whole program.
  const std::string code = Told({"objdump", "-d", "--no-show-raw-insn", "--disassemble=main"});
  EXPECT_NE(LineWith(code, "endbr64"), "") << code.substr(0, 500);
#endif
}

TEST(Hardening, EverySourceHasTheHardeningFlags) {
  std::ifstream file(PODGPU_BINARY_DIR "/compile_commands.json");
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  size_t sources = 0;
  const boost::json::value commands = boost::json::parse(text);
  for (const boost::json::value& entry : commands.as_array()) {
    const std::string command(entry.at("command").as_string());
    if (command.find(" -o src/CMakeFiles/podgpu") == std::string::npos) {
      continue;
    }
    ++sources;
    for (const std::string flag : {
           "-fPIE", "-fstack-protector-strong", "-fstack-clash-protection",
               "-ftrivial-auto-var-init=zero", "-D_GLIBCXX_ASSERTIONS",
#if defined(__x86_64__)
               "-fcf-protection=full",
#endif
#if PODGPU_FORTIFIED
               "-D_FORTIFY_SOURCE=3"
#endif
         }) {
      EXPECT_NE(command.find(" " + flag), std::string::npos) << flag << ": " << command;
    }
  }
  EXPECT_GT(sources, 20U);
}

#if PODGPU_PLACE
// The first address of each function of the program, by symbol.
std::map<std::string, uint64_t> Functions() {
  std::map<std::string, uint64_t> addresses;
  std::istringstream lines(Told({"nm", "--defined-only"}));
  uint64_t address = 0;
  std::string kind;
  for (std::string name; lines >> std::hex >> address >> kind >> name;) {
    if (kind == "t" || kind == "T" || kind == "w" || kind == "W") {
      addresses.try_emplace(name, address);
    }
  }
  return addresses;
}

TEST(Placement, TheFunctionsThatANodeRunsLieTogether) {
  constexpr uint64_t kMostBytes = 2 << 20;  // The program has 6 MB of code.
  const std::map<std::string, uint64_t> functions = Functions();
  std::ifstream list("cmake/function_order.txt");
  std::vector<uint64_t> placed;
  size_t listed = 0;
  for (std::string name; std::getline(list, name); ++listed) {
    if (const auto found = functions.find(name); found != functions.end()) {
      placed.push_back(found->second);
    }
  }
  EXPECT_GT(listed, 1'000U);
  // Fewer: the list is old, so run ./dev function-order.
  ASSERT_GT(placed.size() * 3, listed * 2);
  // A symbol that several files have may be elsewhere too.
  std::sort(placed.begin(), placed.end());
  const uint64_t most = placed[placed.size() * 98 / 100];
  EXPECT_LT(most - placed.front(), kMostBytes);
}
#endif

}  // namespace
}  // namespace podgpu
