#include "sim/program/fleet.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <span>
#include <system_error>

#include "absl/strings/str_format.h"

#include "base/clock.h"
#include "sim/fleet/server.h"
#include "sim/fleet/world.h"
#include "sim/kube/api_server.h"
#include "sim/kube/whole_file.h"
#include "sim/scenario/compile.h"
#include "sim/scenario/run_writer.h"

namespace podgpu::sim {
namespace {

void PrintFleetStep(std::string_view what, const std::string& text) {
  std::printf("%s\n", absl::StrFormat("%-10s %s", what, text).c_str());
  std::fflush(stdout);
}

std::string NodesInWords(const std::vector<FleetBehaviour>& behaviours, uint16_t port) {
  const auto count = [&behaviours](FleetBehaviour behaviour) {
    return std::ranges::count(behaviours, behaviour);
  };
  return absl::StrFormat("%d from %s:%d to %s:%d; %d hang, %d refuse, %d answer garbage",
                         behaviours.size(), FleetAddress(0), port,
                         FleetAddress(behaviours.size() - 1), port, count(FleetBehaviour::kHangs),
                         count(FleetBehaviour::kRefuses), count(FleetBehaviour::kGarbage));
}

std::string LabelsInJson(size_t node) {
  std::string labels;
  for (const FleetLabel& label : FleetNodeLabels(node)) {
    labels += absl::StrFormat("%s\"%s\":\"%s\"", labels.empty() ? "" : ",", label.key, label.value);
  }
  return labels;
}

// Starts an API server that has the nodes; `folder` gets its credentials and the file `env`.
StatusOr<std::unique_ptr<FakeApi>> StartApi(const std::string& folder, size_t nodes) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  auto api = std::make_unique<FakeApi>();
  for (size_t node = 0; node < nodes; ++node) {
    const std::string name = FleetNodeName(node);
    api->Put("/api/v1/nodes", "/" + name,
             absl::StrFormat("\"name\":\"%s\",\"labels\":{%s}", name, LabelsInJson(node)));
  }
  const std::string variables = absl::StrFormat(
      "KUBERNETES_SERVICE_HOST=127.0.0.1\nKUBERNETES_SERVICE_PORT=%d\n"
      "PODGPU_SERVICE_ACCOUNT_DIR=%s\n",
      api->port(), folder);
  if (!api->WriteCredentials(folder) || !WriteWhole(folder + "/env", variables)) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "podgpu-sim fleet: --api-server %s: cannot write there; name a folder of yours", folder));
  }
  return api;
}

}  // namespace

Status RunFleet(const FleetOptions& options) {
  const CompileResult compiled = CompileScenario(options.scenario.text, options.scenario.path);
  if (!compiled.errors.empty()) {
    std::string lines;
    for (const std::string& line : compiled.errors) {
      lines += (lines.empty() ? "" : "\n") + line;
    }
    return absl::InvalidArgumentError(lines);
  }
  std::string error;
  const std::unique_ptr<World> world = World::Open(compiled.image, error);
  if (world == nullptr) {
    return absl::InternalError(error);
  }
  const FleetWorld fleet(*world, options.nodes);
  const std::vector<FleetBehaviour> behaviours = PlanBehaviours(options.nodes, options.shares);
  const SystemClock clock;
  const Instant start = clock.Now();
  PODGPU_ASSIGN_OR_RETURN(
      const std::unique_ptr<FleetServer> server,
      FleetServer::Listen(behaviours, options.port, [&fleet, &clock, start](size_t node) {
        const auto since =
            std::chrono::duration_cast<std::chrono::microseconds>(clock.Now() - start);
        return WriteNodeReport(fleet.ReportOf(node, since.count()));
      }));
  PrintFleetStep("scenario", absl::StrFormat("%s from %s: %d GPUs a node", world->scenario_name(),
                                             options.scenario.path, world->gpu_count()));
  PrintFleetStep("nodes", NodesInWords(behaviours, server->port()));
  std::unique_ptr<FakeApi> api;
  if (!options.api_folder.empty()) {
    PODGPU_ASSIGN_OR_RETURN(api, StartApi(options.api_folder, options.nodes));
    PrintFleetStep("api", absl::StrFormat("127.0.0.1:%d, %s/env", api->port(), options.api_folder));
  }
  std::string how = "Ctrl-C ends it";
  if (!options.nodes_file.empty()) {
    const std::string text = FleetNodesFile(world->scenario_name(), behaviours, server->port());
    PODGPU_RETURN_IF_ERROR(
        ReplaceFile(options.nodes_file, std::as_bytes(std::span(text.data(), text.size()))));
    how = absl::StrFormat("podgpu cluster --nodes=file:%s; %s", options.nodes_file, how);
  }
  PrintFleetStep("ready", how);
  server->Run();
  PrintFleetStep("ended", "all nodes");
  return absl::OkStatus();
}

}  // namespace podgpu::sim
