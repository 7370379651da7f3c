// The kubelet's list of pods and devices, taken from the simulated world.
//
// For tests that run the exporter on the world without a kubelet's socket.  Single thread.
#pragma once

#include "kube/pod_resources.h"
#include "sim/world/world.h"

namespace podgpu {

struct PodLister : sim::PodVisitor {
  PodAllocations answer{"v1", 0, {}};
  Allocation next;

  void Pod(const sim::PodFacts& pod) override {
    ++answer.pod_count;
    next.pod_namespace = pod.pod_namespace;
    next.pod = pod.name;
  }
  void Container(const sim::ContainerFacts& container) override { next.container = container.name; }
  void Device(const sim::PodDevice& device) override {
    next.resource = device.resource;
    next.device_id = device.device_id;
    answer.allocations.push_back(next);
  }
};

}  // namespace podgpu
