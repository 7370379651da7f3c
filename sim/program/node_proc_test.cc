#include "sim/program/node_proc.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include <gtest/gtest.h>

#include "sim/testing/node.h"
#include "sim/testing/world.h"

namespace podgpu::sim {
namespace {

constexpr int64_t kEpochUs = 1'700'000'000'250'000;

// A pod from the start, one from 10 s to 50 s, one at 60 s that has the same pid, a process outside
// any pod, and a churn.
constexpr char kComingsAndGoings[] = R"(format: 1
name: procs
gpus:
  - {count: 4, class: h100-sxm5-80gb}
loads:
  busy: {phases: [{for: 1s, sm: 50%}]}
pods:
  - name: a-name-of-many-letters
    namespace: ml
    containers:
      - name: main
        gpus: [0]
        processes: [{pid: 4101, load: busy, memory: 1GiB}]
  - name: infer-0
    namespace: web
    start: 10s
    stop: 50s
    containers:
      - name: srv
        gpus: [1]
        processes: [{pid: 4110, load: busy, memory: 1GiB}]
  - name: infer-1
    namespace: web
    start: 60s
    containers:
      - name: srv
        gpus: [1]
        processes: [{pid: 4110, load: busy, memory: 1GiB}]
churn:
  - {template: job, namespace: ci, every: 30s, life: 20s, gpus: [3], load: busy, memory: 1GiB}
orphans:
  - {pid: 999, gpu: 2, load: busy, memory: 1GiB}
)";

std::string TextOf(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class ProcTreeTest : public ::testing::Test {
 protected:
  std::set<std::string> Shown() const {
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(proc_)) {
      names.insert(entry.path().filename());
    }
    return names;
  }
  std::string Text(const std::string& name) const { return TextOf(proc_ + "/" + name); }

  TestFolder folder_;
  std::string proc_ = folder_.path() + "/proc";
};

using Names = std::set<std::string>;

TEST_F(ProcTreeTest, ShowsTheLivingProcesses) {
  const TestWorld world(kComingsAndGoings);
  StatusOr<ProcTree> tree = ProcTree::Create(folder_.path(), kEpochUs);
  ASSERT_TRUE(tree.ok()) << tree.status();
  EXPECT_EQ(Shown(), (Names{"1", "2", "stat"}));
  ASSERT_TRUE(tree->Show(*world, 0).ok());
  EXPECT_EQ(Shown(), (Names{"1", "2", "4101", "999", "1000000", "stat"}));
  ASSERT_TRUE(tree->Show(*world, 10 * kSecondUs).ok());
  EXPECT_EQ(Shown(), (Names{"1", "2", "4101", "4110", "999", "1000000", "stat"}));
  ASSERT_TRUE(tree->Show(*world, 25 * kSecondUs).ok());
  EXPECT_EQ(Shown(), (Names{"1", "2", "4101", "4110", "999", "stat"}));
  ASSERT_TRUE(tree->Show(*world, 55 * kSecondUs).ok());
  EXPECT_EQ(Shown(), (Names{"1", "2", "4101", "999", "stat"}));
  EXPECT_TRUE(tree->changes());
}

TEST_F(ProcTreeTest, HasTheFilesOfTheKernel) {
  const TestWorld world(kComingsAndGoings);
  StatusOr<ProcTree> tree = ProcTree::Create(folder_.path(), kEpochUs);
  ASSERT_TRUE(tree.ok() && tree->Show(*world, 10 * kSecondUs).ok());
  // Booted an hour before, in whole seconds; the process started 10 s and a fraction later.
  EXPECT_NE(Text("stat").find("\nbtime 1699996400\n"), std::string::npos);
  EXPECT_TRUE(Text("4110/stat").starts_with("4110 (infer-0) S 1 ")) << Text("4110/stat");
  EXPECT_NE(Text("4110/stat").find(" 0 361025 8000000000 "), std::string::npos)
      << Text("4110/stat");
  EXPECT_EQ(Text("4110/comm"), "infer-0\n");
  EXPECT_EQ(Text("4101/comm"), "a-name-of-many-\n") << "15 bytes, as the kernel cuts it";
  EXPECT_EQ(Text("4110/cmdline"), std::string("/usr/bin/infer-0\0", 17));
  EXPECT_NE(Text("4110/status").find("\nNSpid:\t4110\t1\n"), std::string::npos);
  EXPECT_NE(Text("999/status").find("\nNSpid:\t999\n"), std::string::npos);
  EXPECT_NE(Text("4110/cgroup").find("/cri-containerd-"), std::string::npos);
  EXPECT_EQ(Text("999/cgroup"), "0::/user.slice/user-1000.slice/session-2.scope\n");
  EXPECT_EQ(std::filesystem::read_symlink(proc_ + "/999/ns/pid"), "pid:[4026531836]");
  EXPECT_NE(std::filesystem::read_symlink(proc_ + "/4110/ns/pid"), "pid:[4026531836]");
  EXPECT_TRUE(Text("2/stat").starts_with("2 (kthreadd) "))
      << "the tree also has the host's processes";
}

TEST_F(ProcTreeTest, AStaticPodHasItsConfigHashInItsCgroup) {
  const TestWorld world(R"(format: 1
name: static
gpus: [{class: t4}]
pods:
  - name: proxy-node-a
    static: true
    containers: [{name: main, gpus: [0], processes: [{pid: 41, load: {sm: 1%}, memory: 1GiB}]}]
)");
  StatusOr<ProcTree> tree = ProcTree::Create(folder_.path(), kEpochUs);
  ASSERT_TRUE(tree.ok() && tree->Show(*world, 0).ok());
  const std::string cgroup = Text("41/cgroup");
  const size_t begin = cgroup.find("-pod") + 4;
  const std::string hash = cgroup.substr(begin, cgroup.find(".slice/cri-") - begin);
  EXPECT_EQ(hash.size(), 32U) << cgroup;
  EXPECT_EQ(hash.find_first_not_of("0123456789abcdef"), std::string::npos) << cgroup;
}

TEST_F(ProcTreeTest, ShowsCgroupsAsTheCgroupNamespaceOfAPodDoes) {
  const TestWorld world(R"(format: 1
name: private
cgroup: {seen_from: ml/left}
gpus: [{class: t4}, {class: t4}]
pods:
  - name: left
    namespace: ml
    containers: [{name: main, gpus: [0], processes: [{pid: 41, load: {sm: 1%}, memory: 1GiB}]}]
  - name: right
    namespace: ml
    containers: [{name: main, gpus: [1], processes: [{pid: 42, load: {sm: 1%}, memory: 1GiB}]}]
orphans:
  - {pid: 999, gpu: 1, load: {sm: 1%}, memory: 1GiB}
)");
  StatusOr<ProcTree> tree = ProcTree::Create(folder_.path(), kEpochUs);
  ASSERT_TRUE(tree.ok() && tree->Show(*world, 0).ok());
  EXPECT_TRUE(Text("41/cgroup").starts_with("0::/../cri-containerd-")) << "the pod is lost";
  EXPECT_TRUE(Text("42/cgroup").starts_with("0::/../../kubepods-burstable-pod"))
      << Text("42/cgroup");
  EXPECT_EQ(Text("999/cgroup"), "0::/../../../../user.slice/user-1000.slice/session-2.scope\n");
}

TEST_F(ProcTreeTest, ShowsTheNewStartOfAReusedPid) {
  const TestWorld world(kComingsAndGoings);
  StatusOr<ProcTree> tree = ProcTree::Create(folder_.path(), kEpochUs);
  ASSERT_TRUE(tree.ok() && tree->Show(*world, 45 * kSecondUs).ok());
  EXPECT_TRUE(Text("4110/stat").starts_with("4110 (infer-0) "));
  ASSERT_TRUE(tree->Show(*world, 65 * kSecondUs).ok()) << "Show was not called in between";
  EXPECT_TRUE(Text("4110/stat").starts_with("4110 (infer-1) "));
  EXPECT_NE(Text("4110/stat").find(" 366025 "), std::string::npos);
}

TEST_F(ProcTreeTest, ReplacesAnOlderTree) {
  const TestWorld world(kComingsAndGoings);
  {
    StatusOr<ProcTree> old = ProcTree::Create(folder_.path(), kEpochUs);
    ASSERT_TRUE(old.ok() && old->Show(*world, 10 * kSecondUs).ok());
  }
  EXPECT_TRUE(Shown().contains("4110"));
  ASSERT_TRUE(ProcTree::Create(folder_.path(), kEpochUs).ok());
  EXPECT_EQ(Shown(), (Names{"1", "2", "stat"}));
}

TEST_F(ProcTreeTest, FollowsAWorldThatAControlLogHasChanged) {
  constexpr char kMig[] = R"(format: 1
name: mig
gpus:
  - {class: h100-sxm5-80gb, mig: [3g.40gb, 2g.20gb]}
pods:
  - name: mig-a
    namespace: ml
    containers:
      - name: main
        devices: [gpu0/mig0]
        processes: [{pid: 4201, load: {sm: 10%}, memory: 1GiB}]
)";
  const TestWorld before(kMig);
  const TestWorld after(kMig, "- {at: 5s, kind: mig_set, gpu: 0, layout: [7g.80gb]}\n");
  StatusOr<ProcTree> tree = ProcTree::Create(folder_.path(), kEpochUs);
  ASSERT_TRUE(tree.ok() && tree->Show(*before, 4 * kSecondUs).ok());
  EXPECT_TRUE(Shown().contains("4201"));
  EXPECT_FALSE(tree->changes());
  ASSERT_TRUE(tree->Show(*after, 4 * kSecondUs).ok());
  EXPECT_TRUE(Shown().contains("4201"));
  ASSERT_TRUE(tree->Show(*after, 5 * kSecondUs).ok());
  EXPECT_FALSE(Shown().contains("4201")) << "its MIG instance no longer exists";
}

TEST_F(ProcTreeTest, ReportsAnUnwritablePath) {
  folder_.Write("file", "");
  const StatusOr<ProcTree> tree = ProcTree::Create(folder_.path() + "/file", kEpochUs);
  ASSERT_FALSE(tree.ok());
  EXPECT_NE(tree.status().message().find(folder_.path() + "/file/proc"), std::string::npos);
}

}  // namespace
}  // namespace podgpu::sim
