// A node of a demo: podgpu-sim on a scenario, and podgpu on what it simulates.
//
// Both are started as a person would, with their output in files beside each other.  The same
// scenario, opened once more in this process, tells what is true there.  One thread.
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
    std::string scenario;  // The file.
    uint16_t port = 0;
    std::string name;  // NODE_NAME; empty: that of this machine.
  };

  // Null after a complaint, as the next ones return false.
  static std::unique_ptr<DemoNode> Read(Place place);

  bool StartSimulator();
  // Waits for the first answer, not until it is ready.
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
  std::vector<std::byte> image_;  // Outlives the world.
  std::unique_ptr<sim::World> world_;
  std::unique_ptr<sim::RunDirectory> directory_;
  std::optional<Child> simulator_;
  std::optional<Child> exporter_;
};

}  // namespace podgpu::demo
