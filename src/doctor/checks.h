// The checks of the doctor, and their table.
//
// Each is a small function: it gathers its facts with the exporter's own readers, publishes those
// that later checks use, and returns a finding.  It runs on a thread of its own, which the run
// abandons after the check's time; so it touches only the session and its own variables.
#pragma once

#include <span>
#include <string_view>

#include "doctor/finding.h"
#include "doctor/session.h"

namespace podgpu {

struct Check {
  std::string_view id;       // Id of the check, and the anchor in docs/doctor.md.
  std::string_view section;  // "Driver"
  std::string_view cause;    // The check on which it builds; empty: none.
  Finding (*run)(Session& session);
};

// All checks, in order of cause.
std::span<const Check> CheckTable();

// Reads the files of the configuration and completes it; before all checks.
void ReadConfiguration(Session& session);

Finding CheckKernel(Session& session);
Finding CheckClock(Session& session);
Finding CheckRights(Session& session);
// Returns whether this process runs in a container.
bool IsInContainer(const Session& session);

Finding CheckPciDevices(Session& session);
Finding CheckDriverNodes(Session& session);
Finding CheckDriverLibrary(Session& session);
Finding CheckDriverAnswers(Session& session);
Finding CheckEngine(Session& session);
Finding CheckEngineClient(Session& session);
// Compares the releases of libdcgm and of the host engine.
Finding JudgeClient(std::string_view library, std::string_view engine);
Finding CheckSourceChoice(Session& session);

Finding CheckGpuStates(Session& session);
Finding CheckMig(Session& session);
Finding CheckProfiling(Session& session);
Finding CheckEnergy(Session& session);
Finding CheckMemory(Session& session);
Finding CheckRecovery(Session& session);

Finding CheckNamespace(Session& session);
Finding CheckCgroups(Session& session);
Finding CheckAccounting(Session& session);
Finding CheckProcessNames(Session& session);

Finding CheckKubeSocket(Session& session);
Finding CheckKubeSelf(Session& session);
Finding CheckKubeMapping(Session& session);
Finding CheckKubeApi(Session& session);
Finding CheckKubeDra(Session& session);

Finding CheckConfigFiles(Session& session);
Finding CheckConfigFields(Session& session);
Finding CheckListen(Session& session);
Finding CheckSelfCost(Session& session);

}  // namespace podgpu
