#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include "tools/tidy/checks.h"
#include "tools/tidy/rooms.h"

namespace podgpu::tidy {
namespace {

constexpr int kHighestFloorOfSim = 1;

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
