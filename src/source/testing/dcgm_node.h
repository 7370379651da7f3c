// A node for tests of the DCGM source: fake engine, fake NVML, clock and a source over them.
//
// Test support; only for tests, because it reports failures through GoogleTest.
#pragma once

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"

#include "base/testing/manual_clock.h"
#include "source/dcgm/source.h"
#include "source/testing/fake_dcgm_table.h"
#include "source/testing/fake_nvml_table.h"

namespace podgpu {

inline constexpr uint16_t kDriver = 1;  // A field of the system that is read from a device.
inline constexpr uint16_t kTemperatureId = 150;
inline constexpr uint16_t kPowerId = 155;
inline constexpr uint16_t kUtilisation = 203;
inline constexpr uint16_t kXidId = 230;
inline constexpr uint16_t kFbUsed = 252;
inline constexpr uint16_t kGraphicsActive = 1001;
inline constexpr uint16_t kTensorActive = 1004;
inline constexpr uint16_t kCpuUtilisation = 1100;

inline std::vector<const Field*> Fields(std::vector<uint16_t> ids) {
  std::ranges::sort(ids);
  std::vector<const Field*> fields;
  for (const uint16_t id : ids) {
    fields.push_back(FindField(id));
    EXPECT_NE(fields.back(), nullptr) << id;
  }
  return fields;
}

// A node, its fakes and a source over them.
struct Node {
  explicit Node(int gpu_count, DcgmEndpoint endpoint = {DcgmEndpoint::Kind::kTcp, "host:5555"})
      : place(std::move(endpoint)) {
    for (int i = 0; i < gpu_count; ++i) {
      AddGpu(static_cast<uint32_t>(i));
    }
  }

  void AddGpu(uint32_t id) {
    const std::string number = std::to_string(id);
    dcgm.gpus.push_back({.gpu_id = id,
                         .uuid = "GPU-" + number,
                         .pci_bus_id = "00000000:0" + number + ":00.0",
                         .model = "NVIDIA H100 80GB HBM3",
                         .serial = "165" + number,
                         .vbios_version = "96.00"});
    nvml.gpus.push_back({"GPU-" + number, id + 10, {}});
  }

  // GPU 1 in MIG mode with two instances.
  void AddMig() {
    dcgm.gpus[1].mig_enabled = true;
    dcgm.instances = {{7, 1, 3, "3g.40gb", {{70, 0}}}, {8, 1, 9, "1g.10gb", {{80, 0}}}};
    nvml.gpus[1].mig_devices = {{true, 3, 0, "MIG-x"}, {true, 9, 0, "MIG-y"}};
  }

  DcgmSource& source() {
    if (!made) {
      made = std::make_unique<DcgmSource>(
          dcgm.Library(),
          DcgmSourceOptions{.endpoint = place,
                            .connect_timeout = std::chrono::milliseconds(1000),
                            .util_ratio_is_percent_of_4_6 = util_ratio_is_percent_of_4_6},
          NvmlIdentity([this]() -> StatusOr<abi::NvmlLibrary> { return nvml.Library(); }), clock);
    }
    return *made;
  }

  // Discovers and watches; returns the grid for it.
  std::unique_ptr<Grid> Start(const std::vector<uint16_t>& ids) {
    StatusOr<Topology> topology = source().Discover({});
    EXPECT_TRUE(topology.ok()) << topology.status();
    if (!topology.ok()) {
      return nullptr;
    }
    auto shared = std::make_shared<const Topology>(*std::move(topology));
    StatusOr<WatchResult> result = source().Watch(*shared, Fields(ids), std::chrono::seconds(1));
    EXPECT_TRUE(result.ok()) << result.status();
    watched = result.ok() ? *result : WatchResult{};
    return std::make_unique<Grid>(shared, Fields(ids));
  }

  FakeDcgm dcgm;
  FakeNvml nvml;
  ManualClock clock;
  DcgmEndpoint place;
  bool util_ratio_is_percent_of_4_6 = false;
  std::unique_ptr<DcgmSource> made;
  WatchResult watched;
};

inline const Value& Cell(const Grid& grid, uint16_t field, uint16_t column) {
  return grid.at(*grid.RowOf(field), EntityId{column});
}

inline std::string Text(const absl::Status& status) { return std::string(status.message()); }

}  // namespace podgpu
