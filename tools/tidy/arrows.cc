#include <algorithm>
#include <cctype>
#include <map>
#include <sstream>
#include <string>

#include "tools/tidy/complaint.h"

namespace podgpu::tidy {
namespace {

constexpr int kHighestFloorOfSim = 1;
constexpr std::string_view kTesting = "testing";  // The folder of a room's fakes.

// A room of src/ or a folder of sim/, as its podgpu_room() or podgpu_sim_folder() line declares it.
struct Room {
  std::string name;
  int floor = 0;
  int line = 0;
  std::map<std::string, std::vector<std::string>> lists = {
      {"FOLDERS", {}}, {"LINKS", {}}, {"TEST_USES", {}}, {"USES", {}}};

  // The place of a word in a list, or the length of the list when the word is not there.
  size_t PlaceIn(const std::string& list, const std::string& word) const {
    const std::vector<std::string>& words = lists.at(list);
    return static_cast<size_t>(std::ranges::find(words, word) - words.begin());
  }
  bool Has(const std::string& list, const std::string& word) const {
    return PlaceIn(list, word) < lists.at(list).size();
  }
};

// In order of declaration, lowest first.
using Rooms = std::vector<Room>;

const Room* Find(const Rooms& rooms, std::string_view name) {
  const auto found = std::ranges::find(rooms, name, &Room::name);
  return found == rooms.end() ? nullptr : &*found;
}

bool IsKeyword(std::string_view word) {
  return std::ranges::all_of(word,
                             [](unsigned char c) { return std::isupper(c) != 0 || c == '_'; });
}

// The calls of `call`, such as "podgpu_room(", in a CMakeLists.txt, which the build reads too.
Rooms ParseRooms(const File& file, std::string_view call) {
  constexpr std::string_view kFloor = "# -- floor ";
  Rooms rooms;
  int floor = 0;
  int number = 0;
  const std::string& text = file.text();
  for (std::string_view line : file.Lines()) {
    ++number;
    if (line.starts_with(kFloor) && line.size() > kFloor.size()) {
      floor = line[kFloor.size()] - '0';
    }
    if (!line.starts_with(call)) {
      continue;
    }
    const size_t begin = static_cast<size_t>(line.data() - text.data()) + call.size();
    std::istringstream words(text.substr(begin, text.find(')', begin) - begin));
    Room room;
    room.floor = floor;
    room.line = number;
    words >> room.name;
    std::vector<std::string>* list = nullptr;
    for (std::string word; words >> word;) {
      if (list == nullptr || IsKeyword(word)) {
        list = &room.lists[word];
      } else {
        list->push_back(word);
      }
    }
    rooms.push_back(std::move(room));
  }
  return rooms;
}

// The rooms of `path`.  Each may name only rooms declared above it, which also rules out cycles.
Rooms ReadRooms(const Tree& tree, std::string_view path, std::string_view call,
                Complaints& complaints) {
  const File* file = tree.Find(path);
  Rooms rooms = file == nullptr ? Rooms() : ParseRooms(*file, call);
  for (const Room& room : rooms) {
    for (const std::string& used : room.lists.at("USES")) {
      const Room* other = Find(rooms, used);
      if (other == nullptr || other->line >= room.line) {
        complaints.push_back({file->path(), room.line, kArrow,
                              room.name + " uses " + used + ", which is not declared above it"});
      }
    }
  }
  return rooms;
}

// One #include "..." or <...>.
struct Include {
  std::string target;
  bool quoted = false;
  int line = 0;
};

std::vector<Include> IncludesOf(const File& file) {
  constexpr std::string_view kWord = "#include ";
  std::vector<Include> includes;
  int number = 0;
  for (std::string_view line : file.Lines()) {
    ++number;
    if (line.starts_with(kWord)) {
      line.remove_prefix(kWord.size());
      const size_t end = line.find_first_of("\">", 1);
      includes.push_back({std::string(line.substr(1, end - 1)), line.starts_with('"'), number});
    }
  }
  return includes;
}

// Whether a file of the sub-folder `own` may include from the sub-folder `target`: from its own and
// those declared before it.  Files directly in the room may include from all.
bool MayIncludeFolder(const Room& room, const std::string& own, const std::string& target) {
  return own.empty() || target.empty() || target == kTesting ||
         room.PlaceIn("FOLDERS", target) <= room.PlaceIn("FOLDERS", own);
}

bool MayInclude(const Rooms& rooms, const Room& room, const File& file, const Include& include) {
  if (!include.quoted) {
    return true;
  }
  if (include.target.ends_with(".pb.h")) {
    return room.Has("LINKS", "podgpu_proto");
  }
  const std::string folder = FolderAt(include.target, 0);
  if (folder == room.name) {
    return file.is_test() ||
           MayIncludeFolder(room, FolderAt(file.path(), 2), FolderAt(include.target, 1));
  }
  if (Find(rooms, folder) == nullptr) {
    // An outside library or a generated file; tests may include the simulator and other tests.
    return file.is_test() ||
           (folder != "sim" && folder != "tests" && folder != "tools" && folder != "src");
  }
  return room.Has("USES", folder) ||
         (file.is_test() &&
          (room.Has("TEST_USES", folder) || room.Has("TEST_USES", folder + "_testing")));
}

bool MayIncludeInSim(const Rooms& rooms, const Room& own, const Include& include) {
  const std::string folder = FolderAt(include.target, 0);
  const Room* room = include.quoted ? Find(rooms, folder) : nullptr;
  const bool plain = own.lists.contains("PLAIN");
  if ((room != nullptr && room->floor > kHighestFloorOfSim) ||
      (plain && (folder == "absl" || folder == "base" || folder == "http"))) {
    return false;
  }
  const std::string other = FolderAt(include.target, 1);
  return folder != "sim" || other == own.name || own.Has("USES", other);
}

// Whether the file lies in a declared folder.
bool IsDeclared(const Room* own, const File& file) {
  const std::string below = FolderAt(file.path(), 2);
  if (own == nullptr) {
    return file.path().find('/') == file.path().rfind('/') && file.path().starts_with("src/");
  }
  return file.path().starts_with("sim/") || below.empty() || below == kTesting ||
         own->Has("FOLDERS", below);
}

}  // namespace

void CheckArrows(const Tree& tree, Complaints& complaints) {
  const Rooms rooms = ReadRooms(tree, "src/CMakeLists.txt", "podgpu_room(", complaints);
  const Rooms folders = ReadRooms(tree, "sim/CMakeLists.txt", "podgpu_sim_folder(", complaints);
  for (const File& file : tree.files) {
    const bool in_sim = file.path().starts_with("sim/");
    if (!file.is_cpp() || (!in_sim && !file.path().starts_with("src/"))) {
      continue;
    }
    const Room* own = Find(in_sim ? folders : rooms, FolderAt(file.path(), 1));
    if (!IsDeclared(own, file)) {
      complaints.push_back({file.path(), 1, kArrow, "its folder is not declared"});
    } else if (own != nullptr) {
      for (const Include& include : IncludesOf(file)) {
        if (in_sim ? !file.is_test() && !MayIncludeInSim(rooms, *own, include)
                   : !MayInclude(rooms, *own, file, include)) {
          complaints.push_back({file.path(), include.line, kArrow,
                                own->name + " includes \"" + include.target + "\""});
        }
      }
    }
  }
}

}  // namespace podgpu::tidy
