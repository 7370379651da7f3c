#include "process/cgroup_path.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/text.h"

namespace podgpu {
namespace {

constexpr size_t kUuidSize = 36;
constexpr size_t kStaticUidSize = 32;  // A static pod's uid is the hash of its manifest.
constexpr size_t kContainerIdSize = 64;

bool IsHexDigits(std::string_view text) {
  return text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// 8-4-4-4-12 digits, with dashes, or with underscores in the name of a slice.
bool IsPodUuid(std::string_view text) {
  static constexpr std::array<size_t, 4> kSeparators = {8, 13, 18, 23};
  if (text.size() != kUuidSize) {
    return false;
  }
  for (size_t i = 0; i < text.size(); ++i) {
    const bool separates = std::ranges::find(kSeparators, i) != kSeparators.end();
    if (separates ? text[i] != '-' && text[i] != '_' : !IsHexDigits(text.substr(i, 1))) {
      return false;
    }
  }
  return true;
}

std::string_view WithoutSuffix(std::string_view text, std::string_view suffix) {
  return text.ends_with(suffix) ? text.substr(0, text.size() - suffix.size()) : text;
}

// Returns the last `size` bytes of `element` if "pod" stands before them, at the start or after a
// dash.
std::string_view BehindPod(std::string_view element, size_t size) {
  static constexpr std::string_view kPod = "pod";
  if (element.size() < kPod.size() + size) {
    return {};
  }
  const std::string_view before = element.substr(0, element.size() - size);
  if (!before.ends_with(kPod) || (before.size() > kPod.size() && !before.ends_with("-pod"))) {
    return {};
  }
  return element.substr(before.size());
}

// Returns the uid in "pod<uid>" or "kubepods-burstable-pod<uid>.slice"; empty for other elements.
std::string PodUidOf(std::string_view element) {
  const std::string_view name = WithoutSuffix(element, ".slice");
  std::string_view uid = BehindPod(name, kUuidSize);
  if (!IsPodUuid(uid)) {
    uid = BehindPod(name, kStaticUidSize);
    if (uid.empty() || !IsHexDigits(uid)) {
      return {};
    }
  }
  std::string dashed(uid);
  std::ranges::replace(dashed, '_', '-');
  return dashed;
}

// Returns the id in "<id>", "crio-<id>" or "cri-containerd-<id>.scope"; empty for other elements.
// CRI-O's monitors (crio-conmon-<id>) are no workload and give empty.
std::string_view ContainerIdOf(std::string_view element) {
  static constexpr std::array<std::string_view, 6> kRuntimes = {
      "cri-containerd", "crio", "docker", "libpod", "containerd", "kata"};
  std::string_view name = WithoutSuffix(element, ".scope");
  if (name.size() < kContainerIdSize) {
    return {};
  }
  const std::string_view id = name.substr(name.size() - kContainerIdSize);
  name.remove_suffix(kContainerIdSize);
  if (!IsHexDigits(id)) {
    return {};
  }
  if (name.empty()) {
    return id;
  }
  const bool separated = name.ends_with('-') || name.ends_with('_');
  name.remove_suffix(1);
  return separated && std::ranges::find(kRuntimes, name) != kRuntimes.end() ? id
                                                                            : std::string_view();
}

// Returns the elements of a path. A runtime with the cgroupfs driver turns systemd names into one
// element with two colons, "<slice>:cri-containerd:<id>"; it counts as two elements.
std::vector<std::string> ElementsOf(std::string_view path) {
  std::vector<std::string> elements;
  for (const std::string_view element : Split(WithoutSuffix(path, " (deleted)"), '/')) {
    if (element.empty() || element == "." || element == "..") {
      continue;
    }
    const std::vector<std::string_view> parts = Split(element, ':');
    if (parts.size() == 3) {
      elements.emplace_back(parts[0]);
      elements.push_back(std::string(parts[1]) + "-" + std::string(parts[2]));
    } else {
      elements.emplace_back(element);
    }
  }
  return elements;
}

CgroupPlace PlaceOfPath(std::string_view path) {
  const std::vector<std::string> elements = ElementsOf(path);
  CgroupPlace place;
  // The container is searched after the pod: an id before the pod may be the container of a whole
  // node (kind, minikube).
  auto from = elements.begin();
  for (auto it = elements.begin(); it != elements.end() && place.pod_uid.empty(); ++it) {
    place.pod_uid = PodUidOf(*it);
    if (!place.pod_uid.empty()) {
      from = it + 1;
    }
  }
  for (; from != elements.end() && place.container_id.empty(); ++from) {
    place.container_id = ContainerIdOf(*from);
  }
  return place;
}

int RankOf(const CgroupPlace& place) {
  return (place.pod_uid.empty() ? 0 : 2) + (place.container_id.empty() ? 0 : 1);
}

}  // namespace

CgroupPlace ParseCgroup(std::string_view text) {
  CgroupPlace best;
  for (const std::string_view line : Split(text, '\n')) {
    // "<id>:<controllers>:<path>"; the path may contain colons.
    const size_t first = line.find(':');
    const size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) {
      continue;
    }
    CgroupPlace place = PlaceOfPath(line.substr(second + 1));
    if (RankOf(place) > RankOf(best)) {
      best = std::move(place);
    }
  }
  return best;
}

}  // namespace podgpu
