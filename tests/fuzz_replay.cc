// Replays a committed corpus through a fuzz target as a plain test: fuzz_replay TARGET FOLDER.
// Every file of the folder is one input.  The target aborts when an invariant fails, so a run that
// ends normally has passed.
#include "tests/fuzz_replay.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <string_view>

namespace {

int Replay(const FuzzTarget& target, const char* folder) {
  int count = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) {
      continue;
    }
    std::ifstream file(entry.path(), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    target.run(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
    ++count;
  }
  std::printf("%d inputs replayed\n", count);
  return count > 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const std::span targets(kFuzzTargets, kFuzzTargetCount);
  const std::string_view name = argc == 3 ? argv[1] : "";
  const auto target = std::ranges::find(targets, name, &FuzzTarget::name);
  if (target == targets.end()) {
    std::fputs("usage: fuzz_replay TARGET FOLDER\n", stderr);
    return 2;
  }
  return Replay(*target, argv[2]);
}
