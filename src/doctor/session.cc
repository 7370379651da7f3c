#include "doctor/session.h"

#include <utility>

namespace podgpu {

Session::Session(NodeCommand command, const DoctorSeams& given)
    : seams(given),
      loader(seams.loader, seams.clock),
      sysfs(command.sysfs_root),
      command_(std::move(command)) {}

const NodeCommand& Session::node() const {
  // The published object is never replaced, so the reference stays valid.
  const std::shared_ptr<const ConfigFacts> facts = config.Get();
  return facts == nullptr ? command_ : facts->node;
}

bool Session::NamesEngine() const {
  const SourceOptions& source = command_.source;
  return source.kind == SourceKind::kDcgm ||
         (source.kind == SourceKind::kAuto &&
          (!source.address.empty() || !source.dcgm_library.empty()));
}

std::shared_ptr<const Topology> Session::topology() const {
  const std::shared_ptr<const DriverFacts> by_driver = driver.Get();
  if (by_driver != nullptr) {
    return by_driver->topology;
  }
  const std::shared_ptr<const EngineFacts> by_engine = engine.Get();
  return by_engine == nullptr ? nullptr : by_engine->topology;
}

}  // namespace podgpu
