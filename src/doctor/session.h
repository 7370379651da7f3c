// The knowledge of one run of the doctor: the configuration that it judges, the seams to the
// machine, and the facts that the checks have gathered so far.
//
// A check may hang in a foreign library; then its thread is abandoned and the run goes on.  So the
// session is shared, every fact is an immutable value, and a check publishes its facts in one step
// when it has all of them.  Any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attribution/owner.h"
#include "base/clock.h"
#include "base/files.h"
#include "base/foreign_calls.h"
#include "base/library.h"
#include "base/published.h"
#include "cli/flags.h"
#include "doctor/call_trace.h"
#include "kube/pod_resources.h"
#include "process/process_reading.h"
#include "sample/grid.h"
#include "source/source.h"

namespace podgpu {

// Facts of the kernel that are not in files.
struct SystemFacts {
  std::string hostname;
  int64_t pid = 0;
  uint32_t uid = 0;
  bool clock_is_synchronised = true;
  std::string dev_root = "/dev";  // Folder of the device files.
};

// The machine around the doctor; everything outlives the process's last call.
struct DoctorSeams {
  Clock& clock;
  LibraryLoader& loader;
  const Files& files;
  Environment environment;
  SystemFacts system;
  std::string authorization = {};  // Header for requests to the running exporter; empty: none.
};

// The driver's answers through NVML, from one scan and one reading of the exporter's own source.
struct DriverFacts {
  std::shared_ptr<const Topology> topology;
  std::shared_ptr<const Grid> grid;
  // The requested fields that NVML cannot give, with the names that the list of metrics uses.
  std::vector<std::string> lacked;
  bool has_gpm = false;  // All GPUs have GPM.
  std::string release_reason;
};

// The answers of the configured DCGM engine.
struct EngineFacts {
  std::shared_ptr<const Topology> topology;
  std::string description;
};

struct ProcessesFacts {
  ProcessReading reading;
  std::vector<std::string> uuids;  // UUIDs by device number.
};

// The exporter that serves the configured address.
struct EndpointFacts {
  bool is_podgpu = false;
  std::string version = {};
  bool is_ready = false;
  std::string verdict = {};
  std::string metrics = {};      // Its page; empty when it may not be read.
  std::string status_json = {};  // Body of the answer to /api/v1/status.
};

// The configuration after its files were read.
struct ConfigFacts {
  NodeCommand node;           // The command with counters and the facts of the machine.
  std::string counters = {};  // "default counters, 26 lines"
  Status status = {};         // The reason why the exporter would not start.
  std::vector<std::string> warnings = {};
};

class Session {
 public:
  Session(NodeCommand command, const DoctorSeams& given);

  // The configuration: complete after its files were read.
  const NodeCommand& node() const;
  const NodeCommand& command() const { return command_; }
  // Returns whether the configuration names a DCGM engine, or its library.
  bool NamesEngine() const;
  // The devices as the chosen source sees them; null when none answers.
  std::shared_ptr<const Topology> topology() const;

  const DoctorSeams seams;
  TracingLoader loader;
  const SystemFiles sysfs;
  const ThreadTally written_off = NewThreadTally();

  Published<ConfigFacts> config;
  Published<std::string> library;  // The name under which libnvidia-ml was opened.
  Published<DriverFacts> driver;
  Published<EngineFacts> engine;
  Published<ProcessesFacts> processes;
  Published<PodAllocations> pods;
  Published<Owners> owners;
  Published<EndpointFacts> endpoint;
  // Kept until the process ends, because closing waits for threads of the driver.
  Published<Source> kept_driver, kept_engine;

 private:
  const NodeCommand command_;
};

}  // namespace podgpu
