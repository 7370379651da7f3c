// One case of the fault matrix: a call meets a fault for some periods, and is healed.
//
// The case is judged by what anyone can see: the page, /healthz, the status page, threads,
// descriptors, the heap.  What a page may show is known from a healthy run of the same node
// (Reference), so that no case needs an expectation written by hand.  One test thread.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "tests/matrix/device_lines.h"
#include "tests/matrix/matrix_node.h"
#include "tests/matrix/phase.h"
#include "tests/matrix/vendor.h"

namespace podgpu {

// What happens on the node while the fault is there: this is what makes the source call.
enum class Scene : uint8_t { kSteady, kRelayout, kReconnect, kStart };
inline constexpr std::array<Scene, 4> kScenes = {Scene::kSteady, Scene::kRelayout,
                                                 Scene::kReconnect, Scene::kStart};
std::string_view SceneName(Scene scene);

// The pages of a healthy node, by layout and phase.
struct Reference {
  std::array<std::array<DeviceLines, kPhases>, kLayoutCount> pages;
  std::array<double, kLayoutCount> absent{};  // Samples that such a page lacks, by layout.
};
Reference RecordReference(const Vendor& vendor, size_t mode);

// The symbols that are called in a scene that goes well.
std::set<std::string> RecordCalls(const Vendor& vendor, size_t mode, Scene scene);

struct FaultCase {
  Scene scene;
  std::string symbol;
  FaultColumn column;
  int steps_to_heal = 2;
};

// Runs one case on `node`, which is started (but for kStart) and healthy; what is wrong, in words.
std::vector<std::string> RunCase(MatrixNode& node, const FaultCase& fault_case,
                                 const Reference& reference);

// Steps until the page of `node` is the healthy one; false when it is not after `limit` periods.
bool AwaitHealthy(MatrixNode& node, const Reference& reference, int limit);

}  // namespace podgpu
