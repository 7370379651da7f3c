#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <sstream>
#include <string>

#include "tools/tidy/checks.h"

namespace podgpu::tidy {
namespace {

constexpr std::string_view kRoomList = "src/CMakeLists.txt";
constexpr int kHighestFloorOfSim = 1;

// Files of sim/ that are servers, the compiler or the command line, by the beginning of their
// names: they may use base and abseil.  All others are world or face.
constexpr std::array<std::string_view, 15> kSimPrograms = {
    "main",     "run_writer", "compile", "scenario", "fake_kubelet",
    "fake_api", "api_face",   "engine",  "control",  "command",
    "program",  "node",       "truth",   "units",    "fleet"};

struct Room {
  std::string name;
  int floor = 0;
  int line = 0;
  std::set<std::string> uses;
  std::set<std::string> test_uses;
  bool speaks_proto = false;
};

struct Rooms {
  std::vector<Room> list;  // In order of declaration, lowest first.

  const Room* Find(std::string_view name) const {
    const auto found = std::find_if(list.begin(), list.end(),
                                    [name](const Room& room) { return room.name == name; });
    return found == list.end() ? nullptr : &*found;
  }
};

// The words of one podgpu_room(...) call.
Room ParseRoom(const std::string& arguments, int floor, int line) {
  Room room;
  room.floor = floor;
  room.line = line;
  std::istringstream words(arguments);
  words >> room.name;
  std::string list;
  for (std::string word; words >> word;) {
    if (word == "USES" || word == "LINKS" || word == "TEST_USES") {
      list = word;
    } else if (list == "USES") {
      room.uses.insert(word);
    } else if (list == "TEST_USES") {
      constexpr std::string_view kFakes = "_testing";  // The fakes of a room, in its testing/.
      room.test_uses.insert(word.ends_with(kFakes) ? word.substr(0, word.size() - kFakes.size())
                                                   : word);
    } else if (word.starts_with("podgpu_proto")) {
      room.speaks_proto = true;
    }
  }
  return room;
}

Rooms ParseRooms(const File& file) {
  constexpr std::string_view kFloor = "# -- floor ";
  constexpr std::string_view kRoom = "podgpu_room(";
  Rooms rooms;
  int floor = 0;
  const std::string& text = file.text();
  for (std::string_view line : file.Lines()) {
    const auto at = static_cast<size_t>(line.data() - text.data());
    if (line.starts_with(kFloor) && line.size() > kFloor.size()) {
      floor = line[kFloor.size()] - '0';
    } else if (line.starts_with(kRoom)) {
      const size_t begin = at + kRoom.size();
      const size_t end = std::min(text.find(')', begin), text.size());
      rooms.list.push_back(ParseRoom(text.substr(begin, end - begin), floor, file.LineAt(at)));
    }
  }
  return rooms;
}

// "src/kube/x.cc" is of room "kube"; empty for files in src/ itself and outside.
std::string RoomOf(const std::string& path) {
  constexpr std::string_view kTop = "src/";
  const size_t end = path.find('/', kTop.size());
  return path.starts_with(kTop) && end != std::string::npos
             ? path.substr(kTop.size(), end - kTop.size())
             : "";
}

std::string FolderOf(const std::string& include) {
  const size_t end = include.find('/');
  return end == std::string::npos ? "" : include.substr(0, end);
}

// Folders of this tree that no room may look into.
bool IsOurs(std::string_view folder) {
  return folder == "sim" || folder == "tests" || folder == "tools" || folder == "src";
}

// Each USES names rooms declared above only, which also rules out cycles.
void CheckOrder(const Rooms& rooms, Complaints& complaints) {
  std::set<std::string> above;
  for (const Room& room : rooms.list) {
    for (const std::string& used : room.uses) {
      if (!above.contains(used)) {
        complaints.push_back({std::string(kRoomList), room.line, Rule::kArrow,
                              room.name + " uses " + used + ", which is not declared above it"});
      }
    }
    above.insert(room.name);
  }
}

// Why the file of `room` may not include `include`, or nothing.
std::optional<std::string> Refuse(const Rooms& rooms, const Room& room, const File& file,
                                  const Include& include) {
  if (include.target.ends_with(".pb.h")) {
    return room.speaks_proto ? std::nullopt
                             : std::optional("messages belong to rooms that link podgpu_proto");
  }
  const std::string folder = FolderOf(include.target);
  const bool known = rooms.Find(folder) != nullptr;
  if (!known && file.is_test()) {
    return std::nullopt;  // The simulator's world, generated files, helpers of tests.
  }
  if (folder == room.name || room.uses.contains(folder) ||
      (file.is_test() && room.test_uses.contains(folder))) {
    return std::nullopt;
  }
  if (!known && !IsOurs(folder)) {
    return std::nullopt;  // An outside library, or a generated file of the room itself.
  }
  return "room " + room.name + " includes \"" + include.target + "\"";
}

void CheckRoomFile(const Rooms& rooms, const File& file, Complaints& complaints) {
  const std::string name = RoomOf(file.path());
  const Room* room = rooms.Find(name);
  if (room == nullptr) {
    if (!name.empty()) {
      complaints.push_back({file.path(), 1, Rule::kArrow, "src/" + name + " is no declared room"});
    }
    return;
  }
  for (const Include& include : IncludesOf(file)) {
    if (!include.quoted) {
      continue;
    }
    if (const auto reason = Refuse(rooms, *room, file, include)) {
      complaints.push_back({file.path(), include.line, Rule::kArrow, *reason});
    }
  }
}

bool IsSimProgram(const File& file) {
  return std::any_of(kSimPrograms.begin(), kSimPrograms.end(), [&file](std::string_view beginning) {
    return file.name().starts_with(beginning);
  });
}

void CheckSimFile(const Rooms& rooms, const File& file, Complaints& complaints) {
  const bool plain = !IsSimProgram(file);
  for (const Include& include : IncludesOf(file)) {
    const std::string folder = FolderOf(include.target);
    const Room* room = include.quoted ? rooms.Find(folder) : nullptr;
    std::string reason;
    if (room != nullptr && room->floor > kHighestFloorOfSim) {
      reason = "it includes \"" + include.target + "\" of floor " + std::to_string(room->floor);
    } else if (plain && (folder == "absl" || folder == "base" || folder == "http")) {
      reason = "a world or face includes \"" + include.target + "\"";
    }
    if (!reason.empty()) {
      complaints.push_back({file.path(), include.line, Rule::kSimArrow, reason});
    }
  }
}

}  // namespace

void CheckArrows(const Tree& tree, Complaints& complaints) {
  const File* list = tree.Find(kRoomList);
  if (list == nullptr) {
    complaints.push_back({std::string(kRoomList), 1, Rule::kArrow, "the list of rooms is missing"});
    return;
  }
  const Rooms rooms = ParseRooms(*list);
  CheckOrder(rooms, complaints);
  for (const File& file : tree.files) {
    if (!file.is_cpp()) {
      continue;
    }
    if (file.path().starts_with("src/")) {
      CheckRoomFile(rooms, file, complaints);
    } else if (file.path().starts_with("sim/") && !file.is_test()) {
      CheckSimFile(rooms, file, complaints);
    }
  }
}

}  // namespace podgpu::tidy
