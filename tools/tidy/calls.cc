#include <algorithm>
#include <array>
#include <initializer_list>
#include <string>

#include "tools/tidy/checks.h"

namespace podgpu::tidy {
namespace {

// A name that is kept out, and where it is at home: places are path prefixes separated by blanks.
struct Ban {
  std::string_view name;    // As written; "(" at its end: only as a call.
  std::string_view home;    // "" nowhere.
  std::string_view remedy;  // What to use in its place.
};

constexpr std::string_view kClocks = "src/base/clock.cc sim/world/run_ sim/scenario/run_";
constexpr std::string_view kEnvironment =
    "src/cli/ src/main.cc sim/program/main.cc sim/world/run_directory.cc";
constexpr std::string_view kNumbers = "base/text.h reads numbers without locale or exception";
constexpr std::string_view kSleeps = "wait for a condition with a deadline, or use Wakeup";
constexpr std::string_view kOutput = "base/log.h writes lines, StrFormat makes text";

constexpr std::array kBans = {
    Ban{"::now(", kClocks, "time comes from the injected Clock"},
    Ban{"gettimeofday(", kClocks, "time comes from the injected Clock"},
    Ban{"clock_gettime(", kClocks, "time comes from the injected Clock"},
    Ban{"time(nullptr)", kClocks, "time comes from the injected Clock"},
    Ban{"getenv(", kEnvironment, "cli reads the environment and hands on options"},
    Ban{"secure_getenv(", kEnvironment, "cli reads the environment and hands on options"},
    Ban{"std::regex", "", "std::regex recurses and can take exponential time; parse by hand"},
    Ban{"std::cout", "", kOutput},
    Ban{"std::cerr", "", kOutput},
    Ban{"stoi(", "", kNumbers},
    Ban{"stol(", "", kNumbers},
    Ban{"stoll(", "", kNumbers},
    Ban{"stoul(", "", kNumbers},
    Ban{"stoull(", "", kNumbers},
    Ban{"stof(", "", kNumbers},
    Ban{"stod(", "", kNumbers},
    Ban{"atoi(", "", kNumbers},
    Ban{"atol(", "", kNumbers},
    Ban{"atoll(", "", kNumbers},
    Ban{"atof(", "", kNumbers},
    Ban{"rand(", "", "a seeded std::mt19937_64 gives the same run again"},
    Ban{"srand(", "", "a seeded std::mt19937_64 gives the same run again"},
    Ban{"std::random_device", "", "a seeded std::mt19937_64 gives the same run again"},
    Ban{"sleep_for(", "", kSleeps},
    Ban{"sleep_until(", "", kSleeps},
    Ban{"sleep(", "", kSleeps},
    Ban{"usleep(", "", kSleeps},
    Ban{"nanosleep(", "", kSleeps},
    Ban{"system(", "", "there are no shell-outs"},
    Ban{"popen(", "", "there are no shell-outs"},
    Ban{"absl::Mutex", "", "absl::Mutex is a false race under TSan; base/mutex.h"},
    Ban{"std::atomic<std::shared_ptr", "", "it is a race in libstdc++ 12; base/published.h"},
};

constexpr std::array<std::string_view, 2> kBannedHeaders = {"iostream", "regex"};

bool IsAtHome(const File& file, std::string_view home) {
  if (home == kEnvironment && file.is_test()) {
    return true;  // Tests are started with settings, such as the one that rewrites golden pages.
  }
  while (!home.empty()) {
    const size_t end = std::min(home.find(' '), home.size());
    if (file.path().starts_with(home.substr(0, end))) {
      return true;
    }
    home.remove_prefix(std::min(end + 1, home.size()));
  }
  return false;
}

void Complain(const File& file, int line, const std::string& what, Complaints& complaints) {
  if (!file.Allows(line, NameOf(Rule::kForbiddenCall))) {
    complaints.push_back({file.path(), line, Rule::kForbiddenCall, what});
  }
}

void CheckBan(const File& file, const Ban& ban, Complaints& complaints) {
  const std::string& code = file.code();
  for (size_t at = code.find(ban.name); at != std::string::npos; at = code.find(ban.name, at + 1)) {
    const bool whole = !IsNameByte(ban.name.front()) || at == 0 || !IsNameByte(code[at - 1]);
    const bool member =
        at > 0 && (code[at - 1] == '.' || code[at - 1] == '>') && IsNameByte(ban.name.front());
    if (whole && !member) {
      std::string what = "\"" + std::string(ban.name) + "\" is used";
      if (!ban.home.empty()) {
        what += " outside " + std::string(ban.home);
      }
      Complain(file, file.LineAt(at), what + "; " + std::string(ban.remedy), complaints);
    }
  }
}

void CheckOpenEnds(const File& file, Complaints& complaints) {
  constexpr std::array<std::string_view, 3> kMarks = {"TODO", "FIXME", "XXX"};
  for (std::string_view mark : kMarks) {
    const std::string& text = file.text();
    for (size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + 1)) {
      const size_t end = at + mark.size();
      const bool whole =
          (at == 0 || !IsNameByte(text[at - 1])) && (end == text.size() || !IsNameByte(text[end]));
      const bool numbered = text.compare(end, 2, "(#") == 0;
      if (whole && !numbered && file.code()[at] == ' ') {
        complaints.push_back(
            {file.path(), file.LineAt(at), Rule::kOpenEnd, "\"" + std::string(mark) + "\""});
      }
    }
  }
}

}  // namespace

void CheckCalls(const Tree& tree, Complaints& complaints) {
  for (const File& file : tree.files) {
    if (!file.is_cpp() || file.path().starts_with("tools/tidy/calls.cc")) {
      continue;
    }
    for (const Ban& ban : kBans) {
      if (!IsAtHome(file, ban.home)) {
        CheckBan(file, ban, complaints);
      }
    }
    for (const Include& include : IncludesOf(file)) {
      if (std::find(kBannedHeaders.begin(), kBannedHeaders.end(), include.target) !=
          kBannedHeaders.end()) {
        Complain(file, include.line, "it includes <" + include.target + ">", complaints);
      }
    }
    CheckOpenEnds(file, complaints);
  }
}

}  // namespace podgpu::tidy
