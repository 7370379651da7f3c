#include "tests/demo/page.h"

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "absl/strings/str_format.h"

#include "base/text.h"

namespace podgpu::demo {
namespace {

constexpr std::string_view kEnergyOfPods = "podgpu_pod_gpu_energy_joules_total";
constexpr std::string_view kUtilization = "DCGM_FI_DEV_GPU_UTIL";

// The facts of a page, by the family whose rows say them.
constexpr std::pair<std::string_view, std::string_view> kFactsOfFamilies[] = {
    {"podgpu_allocation_info", "is given to"},
    {kUtilization, "has the labels of"},
    {kEnergyOfPods, "has used energy for"},
};

// `owner` is "namespace/pod/container"; "//" when a row has no labels of a pod.
std::string FactOf(const std::string& gpu, const std::string& instance, std::string_view fact,
                   std::string_view owner) {
  return absl::StrFormat("gpu %s%s %s %s", gpu, instance.empty() ? "" : " instance " + instance,
                         fact, owner);
}

// Collects what each container holds.
class Holders final : public sim::PodVisitor {
 public:
  Holders(const sim::World& world, sim::TimeUs at, Expectation& expected)
      : world_(world), at_(at), expected_(expected) {}
  void Pod(const sim::PodFacts& pod) override {
    pod_ = absl::StrFormat("%s/%s", pod.pod_namespace, pod.name);
  }
  void Container(const sim::ContainerFacts& container) override {
    owner_ = absl::StrFormat("%s/%s", pod_, container.name);
  }
  void Device(const sim::PodDevice& device) override {
    const auto [gpu, instance, compute] = device.device;
    const std::string name = std::to_string(gpu);
    const std::string id =
        instance < 0 ? "" : std::to_string(world_.instance(gpu, instance, at_).gpu_instance_id);
    of_gpu[gpu].insert(owner_);
    expected_.pods.insert(pod_);
    expected_.page.insert(FactOf(name, id, "is given to", owner_));
    expected_.page.insert(FactOf(name, "", "has used energy for", owner_));
  }

  std::map<int, std::set<std::string>> of_gpu;  // Or of an instance of it.

 private:
  const sim::World& world_;  // Both are borrowed for one visit.
  const sim::TimeUs at_;
  Expectation& expected_;
  std::string pod_, owner_;
};

// A line of the page with only the labels `shown`.
std::string WithLabels(std::string_view line, std::span<const std::string_view> shown) {
  const size_t begin = line.find('{') + 1;
  const size_t end = line.rfind('}');
  std::string text(line.substr(0, begin));
  for (const std::string_view label : Split(line.substr(begin, end - begin), ',')) {
    if (std::ranges::count(shown, label.substr(0, label.find('='))) > 0) {
      text.append(label).append(",");
    } else if (!text.ends_with("...,")) {
      text.append("...,");
    }
  }
  text.pop_back();
  return text.append(line.substr(end));
}

}  // namespace

Expectation ExpectationOf(const sim::World& world, sim::TimeUs at) {
  Expectation expected;
  Holders holders(world, at, expected);
  world.VisitPods(at, holders);
  for (int gpu = 0; gpu < world.gpu_count(); ++gpu) {
    const std::set<std::string>& owners = holders.of_gpu[gpu];
    if (world.mig_enabled(gpu, at)) {
      expected.mig.push_back(gpu);  // DCGM has no utilisation of MIG instances.
      continue;
    }
    const bool is_single = owners.size() == 1;
    (is_single ? expected.single : owners.empty() ? expected.free : expected.shared).push_back(gpu);
    expected.most_owners = std::max(expected.most_owners, owners.size());
    expected.page.insert(
        FactOf(std::to_string(gpu), "", "has the labels of", is_single ? *owners.begin() : "//"));
  }
  return expected;
}

Facts FactsOfNode(const MetricPage& page) {
  Facts facts;
  for (const auto& [family, fact] : kFactsOfFamilies) {
    for (const std::string_view line : page.Lines(family)) {
      const auto label = [line](const char* name) { return MetricPage::Label(line, name); };
      const bool is_zero =
          line.find_first_of("123456789", line.rfind(' ')) == std::string_view::npos;
      if (family != kEnergyOfPods || !is_zero) {
        facts.insert(FactOf(label("gpu"), label("GPU_I_ID"), fact,
                            label("namespace") + "/" + label("pod") + "/" + label("container")));
      }
    }
  }
  return facts;
}

Facts FactsOfMap(const MetricPage& page) {
  Facts facts;
  for (const std::string_view line : page.Lines(kMap)) {
    const auto label = [line](const char* name) { return MetricPage::Label(line, name); };
    facts.insert(label("node") + " has " + label("namespace") + "/" + label("pod_name"));
  }
  return facts;
}

std::vector<std::string> Differences(const Facts& expected, const Facts& found) {
  std::vector<std::string> differences;
  for (const std::string& fact : expected) {
    if (!found.contains(fact)) {
      differences.push_back("missing: " + fact);
    }
  }
  for (const std::string& fact : found) {
    if (!expected.contains(fact)) {
      differences.push_back("unexpected: " + fact);
    }
  }
  return differences;
}

std::string Summary(const Expectation& expected) {
  return absl::StrFormat("%d GPUs owned by one pod, %d shared by %d, %d in MIG mode, %d free",
                         expected.single.size(), expected.shared.size(), expected.most_owners,
                         expected.mig.size(), expected.free.size());
}

std::vector<std::string> ShownLines(const Expectation& expected, const MetricPage& page) {
  constexpr std::string_view kOwner[] = {"gpu", "pod", "namespace", "container"};
  constexpr std::string_view kMethod[] = {"gpu", "pod", "method"};
  std::vector<std::string> lines;
  const auto show = [&](const std::vector<int>& gpus, std::string_view family, const char* method,
                        std::span<const std::string_view> labels) {
    const int gpu = gpus.empty() ? -1 : gpus.front();
    const auto found = page.Lines(family, {absl::StrFormat("gpu=\"%d\"", gpu), method});
    if (!found.empty()) {
      lines.push_back(WithLabels(found.front(), labels));
    }
  };
  show(expected.single, kUtilization, "", kOwner);
  show(expected.free, kUtilization, "", kOwner);
  show(expected.single, kEnergyOfPods, "method=\"exclusive\"", kMethod);
  show(expected.shared, kEnergyOfPods, "method=\"sm_share\"", kMethod);
  return lines;
}

}  // namespace podgpu::demo
