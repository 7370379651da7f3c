#include "tests/surfaces/scenes.h"

#include <algorithm>

namespace podgpu {

std::vector<NamedScene> Scenes() {
  return {
      {"h100x8-pods", "h100x8-pods", "12"},
      {"gpu-operator", "h100x8-pods", "12", {"processes=on", "own_proc=1"}},
      {"h100x8-processes", "h100x8-pods", "12", {"processes=on"}},
      {"laptop", "no-gpu", "12", {"kubernetes=off", "explain="}},
      {"laptop-without-driver",
       "one-gpu",
       "12",
       {"library=/nowhere/libdcgm.so.4", "no_gpu=1", "kubernetes=off", "explain="}},
      {"no-device-files",
       "one-gpu",
       "12",
       {"library=/nowhere/libdcgm.so.4", "no_driver_remedy=run it with the NVIDIA runtime",
        "pci_gpus=0000:1b:00.0", "explain="}},
      {"mig-mixed", "mig-mixed", "12", {"explain=gpu=1"}},
      {"time-slicing", "time-slicing", "12"},
      {"fault-board", "fault-board", "55", {"explain=gpu=1"}},
      {"fault-call", "fault-call", "45"},
      {"fault-driver-reload", "fault-driver-reload", "45"},
      {"fault-field", "fault-field", "35", {"explain="}},
      {"fault-gpu-detached", "fault-gpu-detached", "45", {"explain="}},
      {"fault-gpu-lost", "fault-gpu-lost", "45", {"explain=gpu=3"}},
      {"fault-hang", "fault-hang", "35,45", {"hangs=30"}},
      {"fault-kubelet", "fault-kubelet", "35,95", {"kubelet_down=30"}},
      {"fault-mig", "fault-mig", "45", {"explain=gpu=1"}},
      {"fault-no-driver", "fault-no-driver", "12", {"explain="}},
      {"fault-stale", "fault-stale", "45", {"explain=gpu=1"}},
      {"no-library", "one-gpu", "12", {"library=/nowhere/libdcgm.so.4", "explain="}},
  };
}

Scene SceneText(const NamedScene& scene, const std::vector<std::string>& more_words) {
  Scene text{ScenarioText(scene.scenario), scene.seconds, scene.words};
  text.words.insert(text.words.end(), more_words.begin(), more_words.end());
  return text;
}

std::string TestName(const NamedScene& scene) {
  std::string name = scene.name;
  std::ranges::replace(name, '-', '_');
  return name;
}

}  // namespace podgpu
