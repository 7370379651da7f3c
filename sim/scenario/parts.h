// The parts of reading a scenario, one file each: boards, loads and pods, faults.
//
// Each part reads the values of its keys of the root map into the model and complains through the
// cursor.  The order matters: classes before GPUs, GPUs before parts that name them, loads before
// pods. Only scenario*.cc include this.  One thread.
#pragma once

#include <vector>

#include "sim/scenario/scenario.h"

namespace podgpu::sim {

void ReadClasses(const Cursor& classes, Scenario& scenario);
void ReadGpus(const Cursor& gpus, Scenario& scenario);
void ReadLinks(const Cursor& links, Scenario& scenario);
void ReadCpus(const Cursor& cpus, Scenario& scenario);
// A list of profiles, each a name or a map.
std::vector<MigSpec> ReadMigLayout(const Cursor& layout);

void ReadLoads(const Cursor& loads, Scenario& scenario);
void ReadPods(const Cursor& pods, Scenario& scenario);
void ReadChurns(const Cursor& churns, Scenario& scenario);
void ReadOrphans(const Cursor& orphans, Scenario& scenario);

void ReadFaults(const Cursor& faults, bool from_control, Scenario& scenario);

// The index of an existing GPU; 0 and an error otherwise.
int ReadGpuIndex(const Cursor& gpu, const Scenario& scenario);

}  // namespace podgpu::sim
