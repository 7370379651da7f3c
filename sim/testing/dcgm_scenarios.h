// Scenarios of the DCGM face's tests: one node for each case that the face must distinguish.
//
// Each is complete and runs on a manual clock from civil time 2026-01-01; times in them matter only
// where a test says so.  Of the worked example the energy and power at 12.345678 s are known to the
// nanojoule.  For tests only; constants.
#pragma once

namespace podgpu::sim {

// Eight H100: GPU 0 trains, the others are idle.
inline constexpr const char* kEightGpus = R"(format: 1
name: eight
seed: 42
noise_mw: 0
epoch: 2026-01-01T00:00:00Z
gpus: [{count: 8, class: h100-sxm5-80gb, first_bus: "00000000:1B:00.0"}]
loads:
  train: {phases: [{for: 4s, sm: 60%, mem: 30%, tensor: 45%,
     fp16: 20%, dec: 5%, pcie_rx: 2GB/s, nvlink: 90GB/s}, {for: 2s}]}
pods:
  - {name: trainer, namespace: ml, start: 0s,
     containers: [{name: main, gpus: [0],
       processes: [{pid: 4101, gpu: 0, load: train, memory: 40GiB}]}]}
)";

// GPU 0 is whole; GPU 1 is split into instances, and its 3g instance is busy.
inline constexpr const char* kMig = R"(format: 1
name: mig
seed: 7
noise_mw: 0
epoch: 2026-01-01T00:00:00Z
gpus:
  - {class: h100-sxm5-80gb}
  - {class: h100-sxm5-80gb, mig: [{profile: 3g.40gb},
     {profile: 2g.20gb}, {profile: 1g.10gb}, {profile: 1g.10gb}]}
loads:
  half: {phases: [{for: 1s, sm: 50%, mem: 20%, tensor: 30%}]}
pods:
  - {name: user, namespace: ml, start: 0s,
     containers: [{name: main, devices: [gpu1/mig0],
       processes: [{pid: 4201, device: gpu1/mig0, load: half, memory: 20GiB}]}]}
)";

// A generation without GPM and without NVLink.
inline constexpr const char* kAmpere = R"(format: 1
name: ampere
seed: 3
noise_mw: 0
epoch: 2026-01-01T00:00:00Z
gpus: [{count: 2, class: a100-sxm4-80gb}]
)";

// Two GPUs on two switches: GPU 0 uses its links, link 3 of GPU 1 is down; two Grace CPUs.
inline constexpr const char* kFabric = R"(format: 1
name: fabric
seed: 5
noise_mw: 0
epoch: 2026-01-01T00:00:00Z
gpus: [{count: 2, class: h100-sxm5-80gb}]
links: {per_gpu: 5, switches: 2}
cpus: [{cores: 2}, {cores: 3}]
loads:
  talk: {phases: [{for: 1s, sm: 50%, mem: 20%, nvlink: 90GB/s}]}
pods:
  - {name: user, namespace: ml, start: 0s,
     containers: [{name: main, gpus: [0],
       processes: [{pid: 4201, gpu: 0, load: talk, memory: 20GiB}]}]}
faults: [{at: 0s, kind: nvlink, gpu: 1, link: 3, down: true, crc: 7}]
)";

// A node without GPUs.
inline constexpr const char* kNoGpus = R"(format: 1
name: empty
seed: 1
noise_mw: 0
epoch: 2026-01-01T00:00:00Z
gpus: []
)";

// Eight idle GPUs; GPU 5 is lost from 10 s to 40 s.
inline constexpr const char* kLostGpu = R"(format: 1
name: lost
seed: 42
noise_mw: 0
refresh_phase: 0s
epoch: 2026-01-01T00:00:00Z
gpus: [{count: 8, class: h100-sxm5-80gb}]
faults: [{at: 10s, kind: gpu_lost, gpu: 5, for: 30s, xid: 79}]
)";

// At 12.345678 s the counter shows 4,431,900 mJ since 0, and the power is 342,100 mW.
inline constexpr const char* kWorkedExample = R"(format: 1
name: worked
seed: 42
noise_mw: 0
epoch: 2026-01-01T00:00:00Z
refresh_phase: 0s
gpus: [{class: h100-sxm5-80gb}]
loads:
  a: {phases: [{for: 4s, sm: 60%, mem: 30%}, {for: 2s}]}
  b: {phases: [{for: 1s, sm: 30%, mem: 10%}]}
pods:
  - {name: a, namespace: ml, start: 0s,
     containers: [{name: main, gpus: [0],
       processes: [{pid: 4101, gpu: 0, load: a, memory: 10GiB, k_w: 600, m_w: 90}]}]}
  - {name: b, namespace: ml, start: 10s, stop: 50s,
     containers: [{name: main, gpus: [0],
       processes: [{pid: 4102, gpu: 0, load: b, memory: 10GiB, k_w: 500, m_w: 60}]}]}
)";

}  // namespace podgpu::sim
