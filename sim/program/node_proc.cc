#include "sim/program/node_proc.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <system_error>
#include <utility>

#include "absl/strings/str_format.h"

namespace podgpu::sim {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kUptimeAtEpochS = 3600;  // The machine booted an hour before world time 0.
constexpr int64_t kTickUs = 10'000;        // USER_HZ is 100 on the architectures used here.
constexpr std::string_view kHostPidNamespace = "pid:[4026531836]";  // PROC_PID_INIT_INO
constexpr std::string_view kPodPidNamespace = "pid:[4026532500]";
// The reader's own container, which none of the simulated processes is in.
constexpr std::string_view kReaderContainer =
    "00000000000000000000000000000000000000000000000000000000000000aa";

// Collects the containers that own processes.
class Containers final : public PodVisitor {
 public:
  void Pod(const PodFacts& pod) override {
    pod_ = Name(pod.pod_namespace, pod.name, "");
    pod_uid_ = pod.config_hash.empty() ? pod.uid : pod.config_hash;
    pod_uids[pod_] = pod_uid_;
  }
  void Container(const ContainerFacts& container) override {
    found[pod_ + std::string(container.name)] = {pod_uid_, std::string(container.container_id)};
  }
  void Device(const PodDevice& /*device*/) override {}

  static std::string Name(std::string_view pod_namespace, std::string_view pod,
                          std::string_view container) {
    return absl::StrFormat("%s/%s/%s", pod_namespace, pod, container);
  }

  std::map<std::string, std::string> pod_uids;  // By "namespace/name/".
  std::map<std::string, CgroupIds> found;

 private:
  std::string pod_, pod_uid_;
};

std::string SystemdPath(std::string_view runtime, std::string_view uid, std::string_view id) {
  std::string slice(uid);
  std::ranges::replace(slice, '-', '_');
  return absl::StrFormat(
      "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod%s.slice/%s-%s.scope", slice,
      runtime == "containerd" ? "cri-containerd" : runtime, id);
}

std::string CgroupfsPath(std::string_view runtime, std::string_view uid, std::string_view id) {
  return absl::StrFormat("/kubepods/burstable/pod%s/%s%s", uid, runtime == "crio" ? "crio-" : "",
                         id);
}

std::string PathOf(const World& world, std::string_view uid, std::string_view id) {
  return world.cgroup_driver() == "systemd" ? SystemdPath(world.cgroup_runtime(), uid, id)
                                            : CgroupfsPath(world.cgroup_runtime(), uid, id);
}

// Returns `path` as the kernel shows it to a reader whose cgroup namespace begins at `root`
// (kernfs_path_from_node in fs/kernfs/dir.c): one ".." for each level up to the common parent.
std::string RelativeTo(std::string_view root, std::string_view path) {
  size_t common = 0;  // The end of the last element that both have.
  for (size_t i = 0; i <= std::min(root.size(), path.size()); ++i) {
    const bool ends = (i == root.size() || root[i] == '/') && (i == path.size() || path[i] == '/');
    common = ends ? i : common;
    if (i == root.size() || i == path.size() || root[i] != path[i]) {
      break;
    }
  }
  std::string seen;
  for (auto levels = std::ranges::count(root.substr(common), '/'); levels > 0; --levels) {
    seen += "/..";
  }
  seen += path.substr(common);
  return seen.empty() ? "/" : seen;
}

std::string StatText(int pid, std::string_view name, int64_t start_ticks) {
  return absl::StrFormat(
      "%d (%s) S 1 %d %d 0 -1 4194560 9000 0 0 0 70 30 0 0 20 0 4 0 %d 8000000000 120000 "
      "18446744073709551615 1 1 0 0 0 0 0 0 0 0 0 0 17 3 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
      pid, name, pid, pid, start_ticks);
}

std::string StatusText(int pid, std::string_view name, bool in_container) {
  return absl::StrFormat(
      "Name:\t%s\nUmask:\t0022\nState:\tS (sleeping)\nTgid:\t%d\nNgid:\t0\nPid:\t%d\nPPid:\t1\n"
      "NStgid:\t%d%s\nNSpid:\t%d%s\n",
      name, pid, pid, pid, in_container ? "\t1" : "", pid, in_container ? "\t1" : "");
}

// The files that every process has.
std::map<std::string, std::string> FilesOf(int pid, const std::string& name, int64_t start_ticks,
                                           bool in_container, const std::string& cgroup) {
  return {{"stat", StatText(pid, name, start_ticks)},
          {"status", StatusText(pid, name, in_container)},
          {"comm", name + "\n"},
          {"cmdline", std::string(kProgramFolder) + name + std::string(1, '\0')},
          {"cgroup", cgroup}};
}

Status Failed(const fs::path& path, const std::error_code& error) {
  return absl::UnavailableError(absl::StrFormat(
      "%s: %s", path.string(), error ? error.message() : "cannot write the simulated processes"));
}

Status WriteText(const fs::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  return file ? absl::OkStatus() : Failed(path, {});
}

}  // namespace

std::string CgroupText(const World& world, const CgroupIds& ids, std::string_view seen_from) {
  std::string path = "/user.slice/user-1000.slice/session-2.scope";
  if (!ids.container_id.empty()) {
    path = PathOf(world, ids.pod_uid, ids.container_id);
  }
  if (!seen_from.empty()) {
    path = RelativeTo(PathOf(world, seen_from, kReaderContainer), path);
  }
  if (world.cgroup_version() == 2) {
    return absl::StrFormat("0::%s\n", path);
  }
  return absl::StrFormat(
      "12:pids:%s\n11:memory:%s\n4:cpu,cpuacct:%s\n1:name=systemd:%s\n"
      "0::/system.slice/containerd.service\n",
      path, path, path, path);
}

ProcTree::ProcTree(std::string folder, int64_t epoch_us)
    : folder_(std::move(folder)),
      epoch_us_(epoch_us),
      boot_s_(epoch_us / kSecondUs - kUptimeAtEpochS) {}

StatusOr<ProcTree> ProcTree::Create(const std::string& directory, int64_t epoch_us) {
  ProcTree tree(directory + "/proc", epoch_us);
  std::error_code error;
  fs::remove_all(tree.folder_, error);
  fs::create_directories(tree.folder_, error);
  if (error) {
    return Failed(tree.folder_, error);
  }
  PODGPU_RETURN_IF_ERROR(WriteText(
      tree.folder_ + "/stat",
      absl::StrFormat("cpu  100 0 100 10000 0 0 0 0 0 0\nctxt 1000\nbtime %d\nprocesses 4000\n",
                      tree.boot_s_)));
  PODGPU_RETURN_IF_ERROR(tree.Replace(1, FilesOf(1, "systemd", 1, false, "0::/init.scope\n"), {}));
  PODGPU_RETURN_IF_ERROR(tree.Replace(2, FilesOf(2, "kthreadd", 1, false, "0::/\n"), {}));
  return tree;
}

Status ProcTree::Show(const World& world, TimeUs now) {
  if (&world == shown_world_ && now >= shown_at_ && now < next_change_) {
    return absl::OkStatus();
  }
  shown_world_ = &world;
  shown_at_ = now;
  next_change_ = world.NextPodChange(now);
  const std::map<int, Process> living = LivingAt(world, now);
  for (auto it = shown_.begin(); it != shown_.end();) {
    const auto lives = living.find(it->first);
    if (lives != living.end() && lives->second.started == it->second) {
      ++it;
      continue;
    }
    PODGPU_RETURN_IF_ERROR(Remove(it->first));
    it = shown_.erase(it);
  }
  for (const auto& [pid, process] : living) {
    if (!shown_.contains(pid)) {
      PODGPU_RETURN_IF_ERROR(Add(pid, process));
      shown_[pid] = process.started;
    }
  }
  return absl::OkStatus();
}

std::map<int, ProcTree::Process> ProcTree::LivingAt(const World& world, TimeUs now) const {
  Containers containers;
  world.VisitPods(now, containers);
  const std::string seen_from = containers.pod_uids[std::string(world.cgroup_seen_from()) + "/"];
  std::map<int, Process> living;
  for (int i = 0; i < world.process_count(now); ++i) {
    const ProcessFacts facts = world.process(i, now);
    Process process;
    process.name = ProcessComm(facts);
    process.started = facts.started;
    CgroupIds ids;
    if (!facts.container.empty()) {
      ids = containers
                .found[Containers::Name(facts.pod_namespace, facts.pod.view(), facts.container)];
    }
    process.in_container = !ids.container_id.empty();
    process.cgroup = CgroupText(world, ids, seen_from);
    living[facts.pid] = process;
  }
  return living;
}

Status ProcTree::Add(int pid, const Process& process) const {
  const int64_t start_ticks = (epoch_us_ + process.started - boot_s_ * kSecondUs) / kTickUs;
  return Replace(pid, FilesOf(pid, process.name, start_ticks, process.in_container, process.cgroup),
                 process);
}

Status ProcTree::Replace(int pid, const std::map<std::string, std::string>& files,
                         const Process& process) const {
  const fs::path made = folder_ + "/.new";
  std::error_code error;
  fs::remove_all(made, error);
  fs::create_directories(made / "ns", error);
  if (!error) {
    fs::create_symlink(process.in_container ? kPodPidNamespace : kHostPidNamespace, made / "ns/pid",
                       error);
  }
  if (error) {
    return Failed(made, error);
  }
  for (const auto& [name, text] : files) {
    PODGPU_RETURN_IF_ERROR(WriteText(made / name, text));
  }
  // As in the kernel, where the folder's time is that of its process.  The file system may give the
  // inode of a folder that was just removed, within one step of its own clock.
  const std::chrono::sys_time<std::chrono::microseconds> started(
      std::chrono::microseconds(epoch_us_ + process.started));
  fs::last_write_time(made, std::chrono::file_clock::from_sys(started), error);
  const fs::path place = folder_ + "/" + std::to_string(pid);
  if (fs::exists(place, error)) {
    PODGPU_RETURN_IF_ERROR(Remove(pid));
  }
  fs::rename(made, place, error);
  return error ? Failed(made, error) : absl::OkStatus();
}

Status ProcTree::Remove(int pid) const {
  const fs::path gone = folder_ + "/.gone";
  std::error_code error;
  fs::rename(folder_ + "/" + std::to_string(pid), gone, error);
  fs::remove_all(gone, error);
  return error ? Failed(gone, error) : absl::OkStatus();
}

}  // namespace podgpu::sim
