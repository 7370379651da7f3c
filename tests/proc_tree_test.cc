// Podgpu's reading of the simulator's /proc: with every cgroup version, driver and runtime it finds
// the pod and the container that the kubelet and the world know.
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "base/files.h"
#include "process/identity_cache.h"
#include "process/proc_reader.h"
#include "sim/program/node_proc.h"
#include "sim/testing/node.h"
#include "sim/testing/world.h"

namespace podgpu {
namespace {

constexpr int64_t kEpochUs = 1'700'000'000'250'000;
constexpr char kTwoPods[] = R"(
name: procs
gpus:
  - {count: 3, class: h100-sxm5-80gb}
loads:
  busy: {phases: [{for: 1s, sm: 50%}]}
pods:
  - name: trainer-0
    namespace: ml
    containers:
      - {name: main, gpus: [0], processes: [{pid: 4101, load: busy, memory: 1GiB}]}
      - name: side
        gpus: [1]
        processes: [{pid: 4102, load: busy, memory: 1GiB, start: 5s, stop: 20s}]
orphans:
  - {pid: 999, gpu: 2, load: busy, memory: 1GiB}
)";

// The pod uid and the id of each container, by its name.
class Places final : public sim::PodVisitor {
 public:
  void Pod(const sim::PodFacts& pod) override { uid_ = pod.uid; }
  void Container(const sim::ContainerFacts& container) override {
    found[std::string(container.name)] = {uid_, std::string(container.container_id)};
  }
  void Device(const sim::PodDevice& /*device*/) override {}
  std::map<std::string, CgroupPlace> found;

 private:
  std::string uid_;
};

TEST(ProcTree, LeadsFromEveryPidToItsContainer) {
  for (const char* driver : {"systemd", "cgroupfs"}) {
    for (const char* runtime : {"containerd", "crio", "docker"}) {
      for (const int version : {1, 2}) {
        const std::string cgroup = std::string("{version: ") + std::to_string(version) +
                                   ", driver: " + driver + ", runtime: " + runtime + "}";
        SCOPED_TRACE(cgroup);
        const sim::TestWorld world("format: 1\ncgroup: " + cgroup + kTwoPods);
        const sim::TestFolder folder;
        StatusOr<sim::ProcTree> tree = sim::ProcTree::Create(folder.path(), kEpochUs);
        ASSERT_TRUE(tree.ok() && tree->Show(*world, 6 * sim::kSecondUs).ok());
        Places places;
        world->VisitPods(6 * sim::kSecondUs, places);

        const SystemFiles files;
        const ProcReader reader(files, folder.path() + "/proc");
        EXPECT_EQ(reader.View(), ProcView::kHost);
        EXPECT_EQ(reader.Identify(4101)->place, places.found.at("main"));
        EXPECT_EQ(reader.Identify(4102)->place, places.found.at("side"));
        EXPECT_EQ(reader.Identify(999)->place, CgroupPlace{});
      }
    }
  }
}

// A private cgroup namespace: podgpu in the same pod sees the container alone.
TEST(ProcTree, LeadsToTheContainerAloneFromThePodsOwnCgroupNamespace) {
  const sim::TestWorld world(std::string("format: 1\ncgroup: {seen_from: ml/trainer-0}") +
                             kTwoPods);
  const sim::TestFolder folder;
  StatusOr<sim::ProcTree> tree = sim::ProcTree::Create(folder.path(), kEpochUs);
  ASSERT_TRUE(tree.ok() && tree->Show(*world, 6 * sim::kSecondUs).ok());
  Places places;
  world->VisitPods(6 * sim::kSecondUs, places);
  const SystemFiles files;
  const ProcReader reader(files, folder.path() + "/proc");
  EXPECT_EQ(reader.Identify(4101)->place,
            (CgroupPlace{.pod_uid = "", .container_id = places.found.at("main").container_id}));
}

TEST(ProcTree, ReportsNameStartAndEnd) {
  const sim::TestWorld world(std::string("format: 1") + kTwoPods);
  const sim::TestFolder folder;
  StatusOr<sim::ProcTree> tree = sim::ProcTree::Create(folder.path(), kEpochUs);
  ASSERT_TRUE(tree.ok() && tree->Show(*world, 6 * sim::kSecondUs).ok());
  const SystemFiles files;
  const ProcReader reader(files, folder.path() + "/proc");
  IdentityCache cache(reader);
  cache.Begin(Instant());
  const auto identity = cache.Find(4102);
  cache.End();
  ASSERT_NE(identity, nullptr);
  EXPECT_EQ(identity->name, "trainer-0");
  EXPECT_EQ(identity->inner_pid, 1U);
  ASSERT_TRUE(identity->started_at.has_value());
  EXPECT_EQ(ToMicroseconds(*identity->started_at), kEpochUs + 5 * sim::kSecondUs);
  ASSERT_TRUE(tree->Show(*world, 20 * sim::kSecondUs).ok());
  cache.Begin(Instant());
  EXPECT_EQ(cache.Find(4102), nullptr);
  cache.End();
  EXPECT_EQ(cache.unknown(), 0U);
  EXPECT_EQ(reader.Identify(4102).status(), absl::NotFoundError("process 4102 is gone"));
}

}  // namespace
}  // namespace podgpu
