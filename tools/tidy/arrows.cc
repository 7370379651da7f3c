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
constexpr std::string_view kSimList = "sim/CMakeLists.txt";
constexpr int kHighestFloorOfSim = 1;

// A folder of src/ or sim/, as its podgpu_room() or podgpu_sim_folder() line declares it.
struct Room {
  std::string name;
  int floor = 0;
  int line = 0;
  std::set<std::string> uses;
  std::set<std::string> test_uses;
  std::vector<std::string> folders;  // Sub-folders, lowest first.
  bool speaks_proto = false;
  bool plain = false;  // Of sim/: its code runs inside other programs.

  // The place of a sub-folder in `folders`, or their number when it is not declared.
  size_t PlaceOf(std::string_view folder) const {
    return static_cast<size_t>(std::find(folders.begin(), folders.end(), folder) - folders.begin());
  }
};

struct Rooms {
  std::vector<Room> list;  // In order of declaration, lowest first.

  const Room* Find(std::string_view name) const {
    const auto found = std::find_if(list.begin(), list.end(),
                                    [name](const Room& room) { return room.name == name; });
    return found == list.end() ? nullptr : &*found;
  }
};

// The words of one podgpu_room(...) or podgpu_sim_folder(...) call.
Room ParseRoom(const std::string& arguments, int floor, int line) {
  Room room;
  room.floor = floor;
  room.line = line;
  std::istringstream words(arguments);
  words >> room.name;
  std::string list;
  for (std::string word; words >> word;) {
    if (word == "USES" || word == "LINKS" || word == "TEST_USES" || word == "FOLDERS") {
      list = word;
    } else if (word == "PLAIN") {
      room.plain = true;
    } else if (list == "FOLDERS") {
      room.folders.push_back(word);
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

// The calls of `call`, such as "podgpu_room(", in a CMakeLists.txt.
Rooms ParseRooms(const File& file, std::string_view call) {
  constexpr std::string_view kFloor = "# -- floor ";
  Rooms rooms;
  int floor = 0;
  const std::string& text = file.text();
  for (std::string_view line : file.Lines()) {
    const auto at = static_cast<size_t>(line.data() - text.data());
    if (line.starts_with(kFloor) && line.size() > kFloor.size()) {
      floor = line[kFloor.size()] - '0';
    } else if (line.starts_with(call)) {
      const size_t begin = at + call.size();
      const size_t end = std::min(text.find(')', begin), text.size());
      rooms.list.push_back(ParseRoom(text.substr(begin, end - begin), floor, file.LineAt(at)));
    }
  }
  return rooms;
}

// The folder of `path` at a depth: of "src/source/nvml/x.cc" it is "src" at 0, "source" at 1 and
// "nvml" at 2.  Empty when the path has no such folder.
std::string FolderAt(std::string_view path, int depth) {
  for (; depth > 0 && !path.empty(); --depth) {
    path.remove_prefix(std::min(path.find('/'), path.size() - 1) + 1);
  }
  const size_t end = path.find('/');
  return end == std::string_view::npos ? "" : std::string(path.substr(0, end));
}

// Folders of this tree that no room may look into.
bool IsOurs(std::string_view folder) {
  return folder == "sim" || folder == "tests" || folder == "tools" || folder == "src";
}

// Each USES names rooms declared above only, which also rules out cycles.
void CheckOrder(const Rooms& rooms, std::string_view list, Complaints& complaints) {
  std::set<std::string> above;
  for (const Room& room : rooms.list) {
    for (const std::string& used : room.uses) {
      if (!above.contains(used)) {
        complaints.push_back({std::string(list), room.line, Rule::kArrow,
                              room.name + " uses " + used + ", which is not declared above it"});
      }
    }
    above.insert(room.name);
  }
}

bool IsTestingFolder(std::string_view folder) { return folder == "testing"; }

// Whether the sub-folder that holds `file` may include from the sub-folder `target`: from its own
// and those declared before it.  Files directly in the room may include from all.
bool MayIncludeFolder(const Room& room, const File& file, std::string_view target) {
  const std::string own = FolderAt(file.path(), 2);
  return own.empty() || target.empty() || file.is_test() || IsTestingFolder(target) ||
         room.PlaceOf(target) <= room.PlaceOf(own);
}

// Why the file of `room` may not include `include`, or nothing.
std::optional<std::string> Refuse(const Rooms& rooms, const Room& room, const File& file,
                                  const Include& include) {
  if (include.target.ends_with(".pb.h")) {
    return room.speaks_proto ? std::nullopt
                             : std::optional("messages belong to rooms that link podgpu_proto");
  }
  const std::string folder = FolderAt(include.target, 0);
  const bool known = rooms.Find(folder) != nullptr;
  if (folder == room.name && !MayIncludeFolder(room, file, FolderAt(include.target, 1))) {
    return "folder " + FolderAt(file.path(), 2) + " of room " + room.name + " includes \"" +
           include.target + "\"";
  }
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
  const std::string name = FolderAt(file.path(), 1);
  const Room* room = rooms.Find(name);
  if (room == nullptr) {
    if (!name.empty()) {
      complaints.push_back({file.path(), 1, Rule::kArrow, "src/" + name + " is no declared room"});
    }
    return;
  }
  const std::string folder = FolderAt(file.path(), 2);
  if (!folder.empty() && !IsTestingFolder(folder) &&
      room->PlaceOf(folder) == room->folders.size()) {
    complaints.push_back({file.path(), 1, Rule::kArrow,
                          "src/" + name + "/" + folder + " is no declared folder of its room"});
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

// Why the file in the folder `own` of the simulator may not include `include`, or nothing.
std::optional<std::string> RefuseInSim(const Rooms& rooms, const Room& own,
                                       const Include& include) {
  const std::string folder = FolderAt(include.target, 0);
  const Room* room = include.quoted ? rooms.Find(folder) : nullptr;
  if (room != nullptr && room->floor > kHighestFloorOfSim) {
    return "it includes \"" + include.target + "\" of floor " + std::to_string(room->floor);
  }
  if (own.plain && (folder == "absl" || folder == "base" || folder == "http")) {
    return "the plain folder " + own.name + " includes \"" + include.target + "\"";
  }
  const std::string other = FolderAt(include.target, 1);
  if (folder == "sim" && other != own.name && !own.uses.contains(other)) {
    return "folder " + own.name + " includes \"" + include.target + "\"";
  }
  return std::nullopt;
}

void CheckSimFile(const Rooms& rooms, const Rooms& folders, const File& file,
                  Complaints& complaints) {
  const std::string name = FolderAt(file.path(), 1);
  const Room* own = folders.Find(name);
  if (own == nullptr) {
    complaints.push_back(
        {file.path(), 1, Rule::kSimArrow,
         name.empty() ? "it lies in no folder" : "sim/" + name + " is no declared folder"});
    return;
  }
  for (const Include& include : IncludesOf(file)) {
    if (const auto reason = RefuseInSim(rooms, *own, include); reason && !file.is_test()) {
      complaints.push_back({file.path(), include.line, Rule::kSimArrow, *reason});
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
  const Rooms rooms = ParseRooms(*list, "podgpu_room(");
  CheckOrder(rooms, kRoomList, complaints);
  const File* sim_list = tree.Find(kSimList);
  const Rooms folders = sim_list == nullptr ? Rooms() : ParseRooms(*sim_list, "podgpu_sim_folder(");
  CheckOrder(folders, kSimList, complaints);
  for (const File& file : tree.files) {
    if (!file.is_cpp()) {
      continue;
    }
    if (file.path().starts_with("src/")) {
      CheckRoomFile(rooms, file, complaints);
    } else if (file.path().starts_with("sim/")) {
      CheckSimFile(rooms, folders, file, complaints);
    }
  }
}

}  // namespace podgpu::tidy
