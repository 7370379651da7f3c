// Which tests a change reaches, by the path that changed.
#include "tools/tidy/reached.h"

#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

namespace podgpu::tidy {
namespace {

constexpr std::string_view kRooms =
    "# -- floor 0\n"
    "podgpu_room(base)\n"
    "podgpu_room(http USES base)\n"
    "podgpu_room(topology USES base)\n"
    "podgpu_room(kube USES http base)\n"
    "podgpu_room(view USES topology TEST_USES kube_testing)\n";

Tree TreeOfRooms() {
  Tree tree;
  tree.files.emplace_back("src/CMakeLists.txt", std::string(kRooms));
  return tree;
}

bool Reaches(const std::vector<std::string>& changed, const std::string& test) {
  const std::string expression = ReachedTests(TreeOfRooms(), changed);
  return !expression.empty() && std::regex_search(test, std::regex(expression));
}

struct ReachCase {
  const char* what;
  std::vector<std::string> changed;
  std::vector<std::string> reached;
  std::vector<std::string> left_out;
};

TEST(ReachedTests, FollowTheArrowsBetweenRooms) {
  const ReachCase cases[] = {
      {"a room, those above it, and the programs",
       {"src/http/server.cc"},
       {"unit.http_test", "unit.kube_test", "unit.view_test", "e2e.web_test", "fuzz.request_fuzz"},
       {"unit.topology_test", "unit.base_test", "unit.sim_world_test"}},
      {"a test of a room", {"src/view/view_test.cc"}, {"unit.view_test"}, {"unit.http_test"}},
      {"base reaches all",
       {"src/base/clock.cc"},
       {"unit.topology_test", "unit.sim_world_test"},
       {}},
      {"the build reaches all", {"cmake/Room.cmake"}, {"unit.topology_test", "matrix.x"}, {}},
      {"an unknown file reaches all", {"src/new_room/x.cc"}, {"unit.topology_test"}, {}},
      {"the simulator",
       {"sim/world/world.cc"},
       {"unit.sim_world_test", "e2e.x"},
       {"unit.http_test"}},
      {"tests of programs", {"tests/e2e/web_test.cc"}, {"e2e.web_test"}, {"unit.http_test"}},
      {"main", {"src/main.cc"}, {"e2e.web_test"}, {"unit.http_test"}},
      {"documents reach none",
       {"README.md", "docs/energy-error.svg"},
       {},
       {"e2e.x", "unit.x_test"}},
      {"the widest one counts", {"README.md", "src/base/log.cc"}, {"unit.http_test"}, {}},
  };
  for (const ReachCase& row : cases) {
    SCOPED_TRACE(row.what);
    for (const std::string& test : row.reached) {
      EXPECT_TRUE(Reaches(row.changed, test)) << test;
    }
    for (const std::string& test : row.left_out) {
      EXPECT_FALSE(Reaches(row.changed, test)) << test;
    }
  }
}

TEST(ReachedTests, AreAllWithoutAListOfRooms) {
  EXPECT_EQ(ReachedTests(Tree(), {"README.md"}), ".");
}

}  // namespace
}  // namespace podgpu::tidy
