// The world image's records of pods, containers, device ids, processes and churns.
//
// They are in sections of the image (image.h), and refer to its GPUs, layouts and channels by
// index.  Shared by compiler and evaluator only.  Standard library only, for the faces.
#pragma once

#include <cstdint>

#include "sim/world/image.h"

namespace podgpu::sim {

struct NodeEraRecord {
  int64_t start_us;
  Range pods, processes;  // Into the resident lists.
};
struct PodRecord {
  TextRef pod_namespace, name, uid;
  TextRef config_hash;  // Empty unless the pod is static.
  Range containers;
  int64_t start_us, stop_us;
};
struct ContainerRecord {
  TextRef name, container_id;
  Range devices;
};
struct DeviceRecord {
  TextRef resource, device_id;
  int32_t gpu, instance, compute;
  uint32_t layout;
};
struct ProcessRecord {
  int64_t start_us, stop_us;
  int32_t pid, gpu, instance, compute;
  uint32_t first_channel, pod, container, churn;  // pod and container kNone outside pods.
};

// A pod that returns again and again under a new name: cycle n starts at start + n x every.
struct ChurnRecord {
  int64_t start_us, every_us, life_us;
  uint64_t key;
  TextRef pod_namespace, name_prefix, container;
  int32_t first_pid;
  uint32_t pid_cycles;  // Pids repeat after this many cycles.
  Range devices, processes;
};

static_assert(kIsRecord<NodeEraRecord> && kIsRecord<PodRecord> && kIsRecord<ContainerRecord>);
static_assert(sizeof(DeviceRecord) == 32 && sizeof(ProcessRecord) == 48 &&
              sizeof(ChurnRecord) == 80);

}  // namespace podgpu::sim
