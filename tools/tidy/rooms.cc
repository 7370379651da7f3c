#include "tools/tidy/rooms.h"

#include <algorithm>
#include <sstream>

namespace podgpu::tidy {
namespace {

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

}  // namespace

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

std::string FolderAt(std::string_view path, int depth) {
  for (; depth > 0 && !path.empty(); --depth) {
    path.remove_prefix(std::min(path.find('/'), path.size() - 1) + 1);
  }
  const size_t end = path.find('/');
  return end == std::string_view::npos ? "" : std::string(path.substr(0, end));
}

}  // namespace podgpu::tidy
