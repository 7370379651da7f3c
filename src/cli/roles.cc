#include "cli/roles.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"

#include "base/text.h"
#include "cli/cluster_flags.h"
#include "cli/doctor_flags.h"
#include "cli/flag_table.h"
#include "cli/top_flags.h"

namespace podgpu {
namespace {

// Returns the doctor's own flags, then those flags of the node that the doctor does not have
// itself.
std::vector<FlagText> DoctorFlags() {
  std::vector<FlagText> flags = FlagTexts(DoctorFlagTable());
  const std::vector<FlagText> own = flags;
  std::ranges::copy_if(FlagTexts(FlagTable()), std::back_inserter(flags), [&own](const auto& flag) {
    return std::ranges::find(own, flag.name, &FlagText::name) == own.end();
  });
  return flags;
}

constexpr Role kRoles[] = {
    {"node", "[node] [flags]", "serve the GPUs of this node",
     [] { return FlagTexts(FlagTable()); }},
    {"cluster", "cluster --nodes=...", "serve the map of all nodes",
     [] { return FlagTexts(ClusterFlagTable()); }},
    {"doctor", "doctor [flags]", "say what this node gives and lacks", DoctorFlags},
    {"top", "top [URL] [flags]", "show GPUs, pods, processes live",
     [] { return FlagTexts(TopFlagTable()); }},
    {"completion", "completion bash|zsh|fish", "print a completion script"},
    {"version", "version", "print the version"},
};

}  // namespace

std::span<const Role> Roles() { return kRoles; }

Status UnknownRole(std::string_view word) {
  std::vector<std::string_view> names;
  std::string list;
  for (const Role& role : Roles()) {
    absl::StrAppendFormat(&list, "%s%s", list.empty() ? "" : ", ", Quoted(role.name));
    names.push_back(role.name);
  }
  const std::optional<std::string_view> nearest = Nearest(word, names);
  return absl::InvalidArgumentError(
      absl::StrFormat("unknown command %s%s; there are %s. See podgpu --help", Quoted(word),
                      nearest ? absl::StrFormat("; nearest is %s", Quoted(*nearest)) : "", list));
}

}  // namespace podgpu
