#include "process/proc_reader.h"

#include <functional>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "base/testing/fake_files.h"

namespace podgpu {
namespace {

// A /proc made of texts.
class ProcFiles final : public FakeFiles {
 public:
  StatusOr<std::string> Read(std::string_view path) const override {
    if (on_read) {
      on_read(path);
    }
    return FakeFiles::Read(path);
  }

  // Adds the files of a running process.
  void Add(uint32_t pid, const std::string& name, uint64_t start_ticks) {
    const std::string id = std::to_string(pid);
    files["/proc/" + id + "/stat"] = id + " (" + name +
                                     ") S 1 1 1 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 " +
                                     std::to_string(start_ticks) + " 0 0\n";
    files["/proc/" + id + "/status"] = "Name:\t" + name + "\nNSpid:\t" + id + "\t9\n";
    files["/proc/" + id + "/cgroup"] =
        "0::/kubepods/pod0cc175b9-c0f1-46a8-a1c3-99e269772661/" + std::string(64, 'c') + "\n";
    files["/proc/" + id + "/cmdline"] = std::string("/opt/serve\0--fast\0", 18);
  }
  static ProcFiles Host() {
    ProcFiles host;
    host.Add(1, "systemd", 3);
    host.Add(2, "kthreadd", 3);
    host.files["/proc/stat"] = "cpu 1\nbtime 1700000000\n";
    return host;
  }

  ProcFiles() = default;
  ProcFiles(ProcFiles&& other) noexcept : FakeFiles(std::move(other.files)) {
    links = std::move(other.links);
  }
  ProcFiles& operator=(ProcFiles&&) = delete;

  std::function<void(std::string_view path)> on_read;
};

TEST(ProcReader, IdentifiesAPid) {
  ProcFiles files = ProcFiles::Host();
  files.Add(4101, "train (gpu 0)", 4200);
  const StatusOr<ProcessIdentity> identity = ProcReader(files).Identify(4101);
  ASSERT_TRUE(identity.ok()) << identity.status();
  EXPECT_EQ(identity->key, (ProcessKey{.pid = 4101, .start_ticks = 4200}));
  EXPECT_EQ(identity->name, "train (gpu 0)");
  EXPECT_EQ(identity->place.pod_uid, "0cc175b9-c0f1-46a8-a1c3-99e269772661");
  EXPECT_EQ(identity->place.container_id, std::string(64, 'c'));
  EXPECT_EQ(identity->inner_pid, 9U);
  ASSERT_TRUE(identity->started_at.has_value());
  EXPECT_EQ(ToMicroseconds(*identity->started_at),
            1'700'000'000'000'000 + 4200 * (1'000'000 / ::sysconf(_SC_CLK_TCK)));
}

TEST(ProcReader, IdentifiesAProcessFromStatAlone) {
  ProcFiles files = ProcFiles::Host();
  files.Add(4101, "", 4200);
  for (const char* file : {"status", "cgroup", "cmdline"}) {
    files.files["/proc/4101/" + std::string(file)] = absl::PermissionDeniedError("no");
  }
  files.files.erase("/proc/stat");
  const StatusOr<ProcessIdentity> identity = ProcReader(files).Identify(4101);
  ASSERT_TRUE(identity.ok()) << identity.status();
  EXPECT_EQ(identity->name, "");
  EXPECT_EQ(identity->place, CgroupPlace{});
  EXPECT_FALSE(identity->inner_pid.has_value());
  EXPECT_FALSE(identity->started_at.has_value());
}

TEST(ProcReader, UsesTheCommandLineOfAProcessWithoutAName) {
  ProcFiles files = ProcFiles::Host();
  files.Add(4101, "", 4200);
  EXPECT_EQ(ProcReader(files).Identify(4101)->name, "serve");
}

TEST(ProcReader, ReadsTheStartTimeWithOneRead) {
  ProcFiles files = ProcFiles::Host();
  files.Add(4101, "python3", 4200);
  EXPECT_EQ(ProcReader(files).StartTicks(4101).value(), 4200U);
  EXPECT_EQ(files.reads, (std::vector<std::string>{"/proc/4101/stat"}));
}

TEST(ProcReader, DetectsTheKindOfProc) {
  const struct {
    const char* label;
    std::vector<std::string> missing;
    const char* second;
    ProcView view;
  } rows[] = {
      {"the host's", {}, "kthreadd", ProcView::kHost},
      {"a container's with a second process", {}, "sh", ProcView::kOwnNamespace},
      {"a container's with one process", {"/proc/2/stat"}, "", ProcView::kOwnNamespace},
      {"hidepid", {"/proc/1/stat", "/proc/2/stat"}, "", ProcView::kHidden},
      {"none", {"/proc/1/stat", "/proc/2/stat", "/proc/stat"}, "", ProcView::kMissing},
  };
  for (const auto& row : rows) {
    ProcFiles files = ProcFiles::Host();
    files.Add(2, row.second, 3);
    for (const std::string& path : row.missing) {
      files.files.erase(path);
    }
    EXPECT_EQ(ProcReader(files).View(), row.view) << row.label;
  }
}

TEST(ProcReader, SaysWhyAPidCannotBeIdentified) {
  ProcFiles host = ProcFiles::Host();
  EXPECT_EQ(ProcReader(host).Identify(4101).status(), absl::NotFoundError("process 4101 is gone"));
  host.files["/proc/4101/stat"] = absl::UnavailableError("/proc/4101/stat: No such process");
  EXPECT_EQ(ProcReader(host).StartTicks(4101).status(),
            absl::NotFoundError("process 4101 is gone"));
  host.files["/proc/4101/stat"] = absl::PermissionDeniedError("/proc/4101/stat: no");
  EXPECT_EQ(ProcReader(host).StartTicks(4101).status(),
            absl::PermissionDeniedError("/proc/4101/stat: no"));
  host.files["/proc/4101/stat"] = "garbage";
  EXPECT_EQ(ProcReader(host).Identify(4101).status().code(), absl::StatusCode::kInvalidArgument);

  ProcFiles container = ProcFiles::Host();
  container.Add(2, "sh", 5);
  EXPECT_EQ(
      ProcReader(container).Identify(4101).status(),
      absl::FailedPreconditionError("/proc belongs to another pid namespace than the driver's "
                                    "pids: set hostPID, or mount the host's /proc"));
  const ProcFiles none;
  EXPECT_EQ(ProcReader(none, "/host/proc").Identify(4101).status(),
            absl::FailedPreconditionError("/host/proc: no /proc is mounted there"));
}

// Another process gets the pid between the first file and the last.
TEST(ProcReader, NeverMixesTwoProcessesOfOnePid) {
  ProcFiles files = ProcFiles::Host();
  files.Add(4101, "old", 4200);
  files.on_read = [&](std::string_view path) {
    if (path == "/proc/4101/cgroup") {
      files.Add(4101, "new", 9900);
    }
  };
  EXPECT_EQ(ProcReader(files).Identify(4101).status(),
            absl::NotFoundError("process 4101 is gone; its pid is used again"));
  EXPECT_EQ(ProcReader(files).Identify(4101)->key.start_ticks, 9900U);
}

TEST(ProcReader, KnowsThePidsThatWereGivenOutBetween) {
  const struct {
    uint32_t earlier, last;
    std::vector<uint32_t> given_out, not_given_out;
  } rows[] = {
      {500, 500, {}, {1, 499, 500, 501}},
      {500, 502, {501, 502}, {1, 500, 503}},
      {32'766, 301, {32'767, 300, 301}, {302, 32'766}},  // It began again.
  };
  for (const auto& row : rows) {
    for (const uint32_t pid : row.given_out) {
      EXPECT_TRUE(WasGivenOut(pid, row.earlier, row.last)) << row.earlier << ", " << pid;
    }
    for (const uint32_t pid : row.not_given_out) {
      EXPECT_FALSE(WasGivenOut(pid, row.earlier, row.last)) << row.earlier << ", " << pid;
    }
  }
}

TEST(ProcReader, TellsTheLastPidOnlyOfItsOwnNamespace) {
  ProcFiles files = ProcFiles::Host();
  files.files["/proc/loadavg"] = "0.10 0.20 0.30 2/1500 4711\n";
  EXPECT_EQ(ProcReader(files).LastPid(), std::nullopt);
  files.links["/proc/self"] = std::to_string(::getpid() + 1);
  EXPECT_EQ(ProcReader(files).LastPid(), std::nullopt);
  files.links["/proc/self"] = std::to_string(::getpid());
  EXPECT_EQ(ProcReader(files).LastPid(), 4711U);
  for (const char* const text : {"0.10 0.20 0.30 2/1500 many\n", "0.00 0.00 0.00 0/0 0\n", ""}) {
    files.files["/proc/loadavg"] = text;
    EXPECT_EQ(ProcReader(files).LastPid(), std::nullopt) << text;
  }
}

TEST(ProcReader, TheKernelTellsTheChildOfTheTest) {
  const SystemFiles files;
  const ProcReader reader(files);
  const std::optional<uint32_t> before = reader.LastPid();
  const pid_t child = ::fork();
  if (child == 0) {
    ::_exit(0);
  }
  const std::optional<uint32_t> after = reader.LastPid();
  ASSERT_EQ(::waitpid(child, nullptr, 0), child);
  ASSERT_TRUE(before && after);
  EXPECT_TRUE(WasGivenOut(static_cast<uint32_t>(child), *before, *after));
  EXPECT_FALSE(WasGivenOut(static_cast<uint32_t>(::getpid()), *before, *after));
}

TEST(ProcReader, IdentifiesTheTestProcessItself) {
  const SystemFiles files;
  const ProcReader reader(files);
  const StatusOr<ProcessIdentity> identity = reader.Identify(static_cast<uint32_t>(::getpid()));
  ASSERT_TRUE(identity.ok()) << identity.status();
  EXPECT_EQ(identity->name, "process_test");
  EXPECT_GT(identity->key.start_ticks, 0U);
  EXPECT_EQ(reader.StartTicks(identity->key.pid).value(), identity->key.start_ticks);
  EXPECT_TRUE(identity->started_at.has_value());
}

}  // namespace
}  // namespace podgpu
