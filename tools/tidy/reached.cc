#include "tools/tidy/reached.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "tools/tidy/rooms.h"

namespace podgpu::tidy {
namespace {

constexpr std::string_view kAllTests = ".";
// The tests that start podgpu or link the whole of it.
constexpr std::string_view kProgramTests =
    "^(e2e|golden|matrix|soak|conformance)\\.|^unit\\.(documents|metrics_doc|hardening)_test$";

bool IsUnderAny(std::string_view path, const std::vector<std::string_view>& folders) {
  return std::ranges::any_of(folders,
                             [path](std::string_view folder) { return path.starts_with(folder); });
}

// Files that no compiled program depends on.  The preset "test" checks them in full.
bool IsOnlyRead(std::string_view path) {
  return path.ends_with(".md") || path.ends_with(".svg") || path.ends_with(".png") ||
         IsUnderAny(path, {"docs/", "deploy/", "tools/tidy/", "LICENSE", ".git"});
}

// Rooms are declared lowest first, so one pass finds all rooms above the changed ones.
std::set<std::string> RoomsAbove(const Rooms& rooms, std::set<std::string> reached) {
  for (const Room& room : rooms.list) {
    const auto is_reached = [&reached](const std::string& name) { return reached.contains(name); };
    if (std::ranges::any_of(room.uses, is_reached) ||
        std::ranges::any_of(room.test_uses, is_reached)) {
      reached.insert(room.name);
    }
  }
  return reached;
}

std::string ExpressionOf(const std::set<std::string>& rooms, bool with_simulator) {
  std::string expression(kProgramTests);
  expression += "|^fuzz\\.";
  for (const std::string& room : rooms) {
    expression += "|^unit\\." + room + "_test$";
  }
  return with_simulator ? expression + "|^unit\\.sim_" : expression;
}

}  // namespace

std::string ReachedTests(const Tree& tree, const std::vector<std::string>& changed) {
  const File* list = tree.Find(kRoomList);
  if (list == nullptr) {
    return std::string(kAllTests);
  }
  const Rooms rooms = ParseRooms(*list, "podgpu_room(");
  std::set<std::string> touched;
  bool touches_simulator = false;
  bool touches_tests = false;
  for (const std::string& path : changed) {
    const std::string room = FolderAt(path, 1);
    if (IsOnlyRead(path)) {
      continue;
    }
    const bool is_build = path.ends_with("CMakeLists.txt");
    if (path.starts_with("sim/") && !is_build) {
      touches_simulator = true;
    } else if (path == "src/main.cc" || (path.starts_with("tests/") && !is_build)) {
      touches_tests = true;
    } else if (path.starts_with("src/") && room != "base" && rooms.Find(room) != nullptr) {
      touched.insert(room);
    } else {
      return std::string(kAllTests);
    }
  }
  if (touched.empty() && !touches_simulator && !touches_tests) {
    return "";
  }
  return ExpressionOf(RoomsAbove(rooms, touched), touches_simulator);
}

}  // namespace podgpu::tidy
