// One case of the fault matrix: a call meets a fault for some periods, then the fault is healed.
//
// A case is judged by what a user can see: the page, /healthz, the status page, threads,
// descriptors, the heap.  The allowed pages are recorded from a healthy run of the same node
// (Reference), so no case needs a handwritten expectation.  Used on the test thread.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "tests/matrix/device_lines.h"
#include "tests/matrix/matrix_node.h"
#include "tests/matrix/phase.h"
#include "tests/matrix/vendor.h"

namespace podgpu {

// What happens on the node during the fault; this makes the source call the symbol.
enum class Scene : uint8_t { kSteady, kRelayout, kReconnect, kStart };
inline constexpr std::array<Scene, 4> kScenes = {Scene::kSteady, Scene::kRelayout,
                                                 Scene::kReconnect, Scene::kStart};
std::string_view SceneName(Scene scene);

// The pages of a healthy node, by layout and phase.
struct Reference {
  std::array<std::array<DeviceLines, kPhases>, kLayoutCount> pages;
  std::array<double, kLayoutCount> absent{};  // Absent samples of a healthy page, by layout.
};
Reference RecordReference(const Vendor& vendor, size_t mode);

// Returns the symbols that are called in a scene without a fault.
std::set<std::string> RecordCalls(const Vendor& vendor, size_t mode, Scene scene);

struct FaultCase {
  Scene scene;
  std::string symbol;
  FaultColumn column;
  int steps_to_heal = 2;
};

// Runs one case on `node`, which must be started (except for kStart) and healthy.  Returns the
// complaints, in words.
std::vector<std::string> RunCase(MatrixNode& node, const FaultCase& fault_case,
                                 const Reference& reference);

// Steps until the page of `node` is healthy; returns false when it is not after `limit` periods.
bool AwaitHealthy(MatrixNode& node, const Reference& reference, int limit);

}  // namespace podgpu
