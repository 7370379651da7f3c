#include "tests/demo/page.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <span>

#include "base/text.h"

namespace podgpu::demo {
namespace {

constexpr std::string_view kUtilization = "DCGM_FI_DEV_GPU_UTIL";
constexpr std::string_view kAllocation = "podgpu_allocation_info";
constexpr std::string_view kEnergyOfPods = "podgpu_pod_gpu_energy_joules_total";
constexpr std::string_view kEnergyByMethod = "podgpu_gpu_energy_by_method_joules_total";
constexpr size_t kShownColumns = 100;

// Reads `name="value"` pairs; `at` is after "{" before the call and after "}" afterwards.
std::vector<std::pair<std::string, std::string>> ParseLabels(std::string_view line, size_t& at) {
  std::vector<std::pair<std::string, std::string>> labels;
  while (at < line.size() && line[at] != '}') {
    const size_t equals = line.find('=', at);
    std::string name(line.substr(at, equals - at));
    std::string value;
    for (at = equals + 2; at < line.size() && line[at] != '"'; ++at) {
      if (line[at] == '\\' && ++at < line.size() && line[at] == 'n') {
        value += '\n';
      } else {
        value += line[at];
      }
    }
    labels.emplace_back(std::move(name), std::move(value));
    at += at + 1 < line.size() && line[at + 1] == ',' ? 2U : 1U;
  }
  ++at;
  return labels;
}

std::string Device(std::string_view gpu, std::string_view instance) {
  return "gpu " + std::string(gpu) + (instance.empty() ? "" : " instance " + std::string(instance));
}

std::string Path(std::string_view pod_namespace, std::string_view pod, std::string_view container) {
  return std::string(pod_namespace) + "/" + std::string(pod) + "/" + std::string(container);
}

std::string OwnerOf(const Sample& sample) {
  return sample.Label("pod").empty()
             ? ""
             : Path(sample.Label("namespace"), sample.Label("pod"), sample.Label("container"));
}

// Collects the containers of each device.
class Owners final : public sim::PodVisitor {
 public:
  Owners(const sim::World& world, sim::TimeUs at) : world_(world), at_(at) {}

  void Pod(const sim::PodFacts& pod) override {
    namespace_ = pod.pod_namespace;
    pod_ = pod.name;
  }
  void Container(const sim::ContainerFacts& container) override { container_ = container.name; }
  void Device(const sim::PodDevice& device) override {
    const sim::DeviceRef& ref = device.device;
    std::string instance;
    if (ref.instance >= 0) {
      instance = std::to_string(world_.instance(ref.gpu, ref.instance, at_).gpu_instance_id);
    }
    const std::string owner = Path(namespace_, pod_, container_);
    allocations.insert(demo::Device(std::to_string(ref.gpu), instance) + ": " + owner);
    if (ref.instance < 0) {
      by_gpu[ref.gpu].insert(owner);
    }
  }

  Ownership allocations;
  std::map<int, std::set<std::string>> by_gpu;

 private:
  const sim::World& world_;  // Borrowed for one visit.
  sim::TimeUs at_;
  std::string namespace_, pod_, container_;
};

std::string NumberOf(int index) { return std::to_string(index); }

void CompareUtilization(const Expectation& expected, const std::vector<Sample>& page,
                        std::vector<std::string>& wrong) {
  for (int gpu = 0; gpu < expected.gpus; ++gpu) {
    const auto row = std::find_if(page.begin(), page.end(), [gpu](const Sample& sample) {
      return sample.family == kUtilization && sample.Label("gpu") == NumberOf(gpu);
    });
    if (row == page.end()) {
      if (!expected.mig.contains(gpu)) {  // DCGM has no such value for MIG instances.
        wrong.push_back(std::string(kUtilization) + " has no row for gpu " + NumberOf(gpu));
      }
      continue;
    }
    const auto single = expected.single.find(gpu);
    const std::string owner = single == expected.single.end() ? "" : single->second;
    if (!expected.mig.contains(gpu) && OwnerOf(*row) != owner) {
      wrong.push_back("gpu " + NumberOf(gpu) + " carries the pod labels \"" + OwnerOf(*row) +
                      "\", the scenario says \"" + owner + "\"");
    }
  }
}

void CompareAllocations(const Expectation& expected, const std::vector<Sample>& page,
                        std::vector<std::string>& wrong) {
  Ownership seen;
  for (const Sample& sample : page) {
    if (sample.family == kAllocation) {
      seen.insert(Device(sample.Label("gpu"), sample.Label("GPU_I_ID")) + ": " + OwnerOf(sample));
    }
  }
  const std::string family(kAllocation);
  for (const std::string& allocation : expected.allocations) {
    if (!seen.contains(allocation)) {
      wrong.push_back(family + " lacks " + allocation);
    }
  }
  for (const std::string& allocation : seen) {
    if (!expected.allocations.contains(allocation)) {
      wrong.push_back(family + " has " + allocation + ", which the scenario lacks");
    }
  }
}

double NumberIn(const Sample& sample) { return std::strtod(sample.value.c_str(), nullptr); }

// The pods that share a GPU are charged different amounts of its energy, and together with the
// energy without an owner they sum up to the whole.
void CompareEnergy(const Expectation& expected, int gpu, const std::vector<Sample>& page,
                   std::vector<std::string>& wrong) {
  std::map<std::string, double> by_pod;
  double of_gpu = 0;
  double of_nobody = 0;
  for (const Sample& sample : page) {
    if (sample.Label("gpu") != NumberOf(gpu)) {
      continue;
    }
    if (sample.family == kEnergyOfPods) {
      by_pod[sample.Label("namespace") + "/" + sample.Label("pod")] += NumberIn(sample);
    } else if (sample.family == kEnergyByMethod) {
      const std::string method = sample.Label("method");
      const bool is_nobodys = method == "unattributed" || method == "outside_kubernetes";
      of_gpu += NumberIn(sample);
      of_nobody += is_nobodys ? NumberIn(sample) : 0;
    }
  }
  std::set<double> parts;
  double of_pods = 0;
  for (const auto& [pod, energy] : by_pod) {
    parts.insert(energy);
    of_pods += energy;
  }
  if (parts.size() != expected.most_owners || parts.contains(0)) {
    wrong.push_back("gpu " + NumberOf(gpu) + " has different parts of energy for " +
                    std::to_string(parts.size() - parts.count(0)) + " pods, the scenario has " +
                    std::to_string(expected.most_owners));
  }
  constexpr double kHalfAMillijoule = 0.0005;
  if (std::abs(of_pods + of_nobody - of_gpu) > kHalfAMillijoule) {
    wrong.push_back("the parts of gpu " + NumberOf(gpu) + "'s energy are " +
                    std::to_string(of_pods + of_nobody) + " J, the whole is " +
                    std::to_string(of_gpu) + " J");
  }
}

// A line of the page with only the labels `shown`.
std::string WithLabels(const Sample& sample, std::span<const std::string_view> shown) {
  std::string text = sample.family + "{";
  bool comma = false;
  bool gap = false;
  for (const auto& [name, value] : sample.labels) {
    const bool show = std::find(shown.begin(), shown.end(), name) != shown.end() && !value.empty();
    if (show || !gap) {
      text += std::string(comma ? "," : "") + (show ? name + "=\"" + value + "\"" : "...");
      comma = true;
    }
    gap = !show;
  }
  return text + "} " + sample.value;
}

// The same with as many labels as fit; the number is never cut.
std::string Shorten(const Sample& sample) {
  constexpr std::array<std::string_view, 6> kByNeed = {"gpu",    "GPU_I_ID",  "pod",
                                                       "method", "namespace", "container"};
  std::span<const std::string_view> shown = kByNeed;
  while (!shown.empty() && WithLabels(sample, shown).size() > kShownColumns) {
    shown = shown.first(shown.size() - 1);
  }
  return WithLabels(sample, shown);
}

}  // namespace

std::string Sample::Label(std::string_view name) const {
  const auto found = std::find_if(labels.begin(), labels.end(),
                                  [name](const auto& label) { return label.first == name; });
  return found == labels.end() ? "" : found->second;
}

std::vector<Sample> ParsePage(std::string_view page) {
  std::vector<Sample> samples;
  for (std::string_view line : Split(page, '\n')) {
    if (line.empty() || line.front() == '#') {
      continue;
    }
    Sample sample;
    size_t at = line.find_first_of("{ ");
    sample.family = line.substr(0, at);
    if (at < line.size() && line[at] == '{') {
      sample.labels = ParseLabels(line, ++at);
    }
    sample.value = at < line.size() ? Trim(line.substr(at)) : "";
    samples.push_back(std::move(sample));
  }
  return samples;
}

Expectation ExpectationOf(const sim::World& world, sim::TimeUs at) {
  Expectation expected;
  expected.gpus = world.gpu_count();
  expected.model = expected.gpus > 0 ? world.gpu(0).model : "";
  Owners owners(world, at);
  world.VisitPods(at, owners);
  expected.allocations = owners.allocations;
  for (int gpu = 0; gpu < expected.gpus; ++gpu) {
    const std::set<std::string>& whole = owners.by_gpu[gpu];
    if (world.mig_enabled(gpu, at)) {
      expected.mig.insert(gpu);
    } else if (whole.size() == 1) {
      expected.single[gpu] = *whole.begin();
    } else if (whole.empty()) {
      expected.free.insert(gpu);
    } else {
      expected.shared.insert(gpu);
      expected.most_owners = std::max(expected.most_owners, whole.size());
    }
  }
  return expected;
}

std::vector<std::string> Compare(const Expectation& expected, const std::vector<Sample>& page) {
  std::vector<std::string> wrong;
  std::set<std::string> gpus;
  for (const Sample& sample : page) {
    if (sample.family.starts_with("DCGM_FI_") && !sample.Label("gpu").empty()) {
      gpus.insert(sample.Label("gpu"));
    }
  }
  if (gpus.size() != static_cast<size_t>(expected.gpus)) {
    wrong.push_back("the page shows " + std::to_string(gpus.size()) + " GPUs, the scenario has " +
                    NumberOf(expected.gpus));
  }
  CompareUtilization(expected, page, wrong);
  CompareAllocations(expected, page, wrong);
  for (const int gpu : expected.shared) {
    CompareEnergy(expected, gpu, page, wrong);
  }
  return wrong;
}

std::string Summary(const Expectation& expected) {
  return std::to_string(expected.single.size()) + " GPUs owned by one pod, " +
         std::to_string(expected.shared.size()) + " shared by " +
         std::to_string(expected.most_owners) + ", " + std::to_string(expected.mig.size()) +
         " in MIG mode, " + std::to_string(expected.free.size()) + " free";
}

std::vector<std::string> ShownLines(const Expectation& expected, const std::vector<Sample>& page) {
  std::vector<std::string> lines;
  const auto show = [&](std::string_view family, int gpu, std::string_view method = "") {
    const auto found = std::ranges::find_if(page, [&](const Sample& sample) {
      return sample.family == family && sample.Label("gpu") == NumberOf(gpu) &&
             (method.empty() || sample.Label("method") == method);
    });
    if (found != page.end()) {
      lines.push_back(Shorten(*found));
    }
  };
  if (!expected.single.empty()) {
    show(kUtilization, expected.single.begin()->first);
  }
  if (!expected.free.empty()) {
    show(kUtilization, *expected.free.begin());
  }
  if (!expected.single.empty()) {
    show(kEnergyOfPods, expected.single.begin()->first, "exclusive");
  }
  if (!expected.shared.empty()) {
    show(kEnergyOfPods, *expected.shared.begin(), "sm_share");
  }
  return lines;
}

}  // namespace podgpu::demo
