// A node of a demo: podgpu-sim on a scenario, and podgpu on that simulated node.
//
// Both start as a user would start them, with their output in files.  This process opens the same
// scenario to know the true values.  One thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/world/run_directory.h"
#include "sim/world/world.h"
#include "tests/demo/page.h"
#include "tests/demo/process.h"

namespace podgpu::demo {

class DemoNode {
 public:
  struct Place {
    std::filesystem::path build, run;
    std::string scenario;  // The scenario's file.
    uint16_t port = 0;
    std::string name;  // NODE_NAME; empty: the name of this machine.
  };

  // Null after a complaint; the next functions return false then.
  static std::unique_ptr<DemoNode> Read(Place place);

  bool StartSimulator();
  // Waits for the first answer; readiness may come later.
  bool StartExporter();
  void Stop();

  const Place& place() const { return place_; }
  const sim::World& world() const { return *world_; }
  sim::TimeUs Now() const { return directory_->Now(); }
  Expectation Expected() const { return ExpectationOf(*world_, Now()); }
  Child& simulator() { return *simulator_; }
  Child& exporter() { return *exporter_; }

 private:
  explicit DemoNode(Place place) : place_(std::move(place)) {}

  const Place place_;
  std::vector<std::byte> image_;  // Must outlive the world.
  std::unique_ptr<sim::World> world_;
  std::unique_ptr<sim::RunDirectory> directory_;
  std::optional<Child> simulator_;
  std::optional<Child> exporter_;
};

}  // namespace podgpu::demo
