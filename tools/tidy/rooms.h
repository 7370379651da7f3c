// The rooms of src/ and the folders of sim/ as their CMakeLists.txt declare them: which exist, on
// which floor, and what each may use.
//
// Read from the text of the podgpu_room() and podgpu_sim_folder() calls, so the build and the
// checks have one list.  Plain data, owned by the caller.
#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tools/tidy/tree.h"

namespace podgpu::tidy {

inline constexpr std::string_view kRoomList = "src/CMakeLists.txt";
inline constexpr std::string_view kSimList = "sim/CMakeLists.txt";

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

// The calls of `call`, such as "podgpu_room(", in a CMakeLists.txt.
Rooms ParseRooms(const File& file, std::string_view call);

// The folder of `path` at a depth: of "src/source/nvml/x.cc" it is "src" at 0, "source" at 1 and
// "nvml" at 2.  Empty when the path has no such folder.
std::string FolderAt(std::string_view path, int depth);

}  // namespace podgpu::tidy
