// Worlds for tests: compiles a valid scenario and opens its image.
//
// A TestWorld owns the image that its World reads.  Used by the tests of this folder and by
// in-process tests elsewhere that link podgpu_sim_scenario_instrumented.  GoogleTest only; an
// invalid scenario ends the program with its errors, since no test can continue without a world.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "sim/scenario/compile.h"
#include "sim/world/world.h"

namespace podgpu::sim {

class TestWorld {
 public:
  explicit TestWorld(std::string_view text, std::string_view control = "")
      : result_(CompileScenario(text, "test.yaml", control, "control.yaml")) {
    std::string error;
    if (result_.errors.empty()) {
      world_ = World::Open(result_.image, error);
    }
    for (const std::string& line : result_.errors) {
      std::fprintf(stderr, "%s\n", line.c_str());
    }
    if (world_ == nullptr) {
      std::fprintf(stderr, "%s\n", error.c_str());
      std::abort();
    }
  }

  const World* operator->() const { return world_.get(); }
  const World& operator*() const { return *world_; }
  const std::vector<std::byte>& image() const { return result_.image; }

 private:
  CompileResult result_;
  std::unique_ptr<World> world_;
};

// Pods as lines: "namespace/name", "namespace/name/container resource id".
struct PodLines {
  std::vector<std::string> lines, uids, container_ids;
  std::vector<DeviceRef> devices;
};

class PodWriter final : public PodVisitor {
 public:
  explicit PodWriter(PodLines& out) : out_(out) {}
  void Pod(const PodFacts& pod) override {
    pod_ = std::string(pod.pod_namespace) + "/" + std::string(pod.name);
    out_.lines.push_back(pod_);
    out_.uids.emplace_back(pod.uid);
  }
  void Container(const ContainerFacts& container) override {
    container_ = pod_ + "/" + std::string(container.name);
    out_.container_ids.emplace_back(container.container_id);
  }
  void Device(const PodDevice& device) override {
    out_.lines.push_back(container_ + " " + std::string(device.resource) + " " +
                         std::string(device.device_id));
    out_.devices.push_back(device.device);
  }

 private:
  PodLines& out_;
  std::string pod_, container_;
};

inline PodLines PodsAt(const World& world, TimeUs t) {
  PodLines pods;
  PodWriter writer(pods);
  world.VisitPods(t, writer);
  return pods;
}

inline std::vector<std::string> AllocatableAt(const World& world, TimeUs t) {
  PodLines devices;
  PodWriter writer(devices);
  world.VisitAllocatable(t, writer);
  return devices.lines;
}

// The text of a shipped scenario, by name.
inline std::string ShippedScenario(std::string_view name) {
  std::ifstream file("sim/scenarios/" + std::string(name) + ".yaml");
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace podgpu::sim
