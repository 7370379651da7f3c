#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"

#include "abi/load.h"
#include "base/text.h"
#include "base/worker.h"
#include "doctor/checks.h"
#include "doctor/doctor_fields.h"
#include "doctor/words.h"
#include "source/open_source.h"
#include "source/pci_bus.h"

namespace podgpu {
namespace {

constexpr std::string_view kDemo = "make demo, to see podgpu on a simulated 8-GPU node";
constexpr std::string_view kSeeKernelLog = "look for NVRM in the kernel log of the node: dmesg";

// Returns the finding that the configured engine reads the GPUs, in place of a device of this
// machine.
Finding ReadByEngine(const Session& session, std::string_view what) {
  const std::string& address = session.command().source.address;
  return Finding::Skip(absl::StrFormat("%s; the engine %s reads the devices", what,
                                       address.empty() ? std::string("in this process") : address));
}

struct DeviceFiles {
  size_t found = 0;
  size_t readable = 0;
  std::string first_bad;  // The first bad file, with the reason.
  std::vector<std::pair<std::string, std::string>> evidence;
};

DeviceFiles LookAtDeviceFiles(const Session& session) {
  DeviceFiles files;
  std::vector<std::string> paths = {session.seams.system.dev_root + "/nvidiactl"};
  for (size_t i = 0; i < ListPciGpus(session.sysfs).size(); ++i) {
    paths.push_back(absl::StrFormat("%s/nvidia%d", session.seams.system.dev_root, i));
  }
  for (const std::string& path : paths) {
    const bool is_there = ::access(path.c_str(), F_OK) == 0;
    const bool is_readable = is_there && ::access(path.c_str(), R_OK | W_OK) == 0;
    const char* const state = is_readable ? "readable" : is_there ? "not permitted" : "missing";
    ++files.found;
    files.readable += is_readable ? 1U : 0U;
    files.evidence.emplace_back(path, state);
    if (!is_readable && files.first_bad.empty()) {
      files.first_bad = absl::StrFormat("%s is %s", path, state);
    }
  }
  return files;
}

// Returns where the search found the library: "first of 6 paths".
std::string PlaceOf(const std::string& name) {
  const std::span<const std::string_view> directories = abi::LibraryDirectories();
  const size_t all = directories.size() + 1;
  for (size_t i = 0; i < directories.size(); ++i) {
    if (name.starts_with(directories[i])) {
      return absl::StrFormat("path %d of %d, %s", i + 2, all, name);
    }
  }
  return absl::StrFormat("first of %d paths", all);
}

std::string VersionOfDriver(const Session& session) {
  const std::string text = session.sysfs.Read("/module/nvidia/version").value_or("");
  const std::string_view version = Trim(text);
  return version.empty() ? "" : absl::StrFormat(" %s", version);
}

// The longest time for a call; then its device is left out.  One such call fits into the time of
// the check.
constexpr std::chrono::milliseconds kCallPatience{1'000};

// Gives up each call that hangs, so that the source reads the other devices, as the watchdog of the
// exporter does.  Ends with the object.
class HangWatch {
 public:
  HangWatch(Clock& clock, std::shared_ptr<NvmlSource> source) {
    worker_.Start(
        [&clock, source = std::move(source), begin = clock.Now()](const std::stop_token& stop) {
          constexpr std::chrono::milliseconds kPace{50};
          while (clock.WaitUntil(clock.Now() + kPace, stop)) {
            const std::optional<TracedCall> call = TracingLoader::Newest(begin);
            if (call && call->took >= kCallPatience) {
              source->Interrupt();
            }
          }
        });
  }
  HangWatch(const HangWatch&) = delete;
  HangWatch& operator=(const HangWatch&) = delete;
  ~HangWatch() {
    worker_.RequestStop();
    worker_.JoinWithin(kCallPatience);
  }

 private:
  Worker worker_;
};

// A field that DCGM has renamed has two names.  One that no metric shows has that of the catalogue.
std::string NameInList(const std::vector<Counter>& counters, const Field& field) {
  const auto counter = std::ranges::find(counters, &field, &Counter::field);
  return counter != counters.end() ? counter->name : std::string(field.name);
}

// Scans the devices and reads them once, as the exporter does.
StatusOr<DriverFacts> ReadDriver(Session& session) {
  SourceOptions options = session.node().source;
  options.sysfs = &session.sysfs;
  PODGPU_ASSIGN_OR_RETURN(
      std::unique_ptr<NvmlSource> opened,
      OpenNvmlSource(options, session.loader, session.seams.clock, session.written_off));
  const std::shared_ptr<NvmlSource> source(std::move(opened));
  session.kept_driver.Set(source);
  const HangWatch watch(session.seams.clock, source);
  PODGPU_ASSIGN_OR_RETURN(Topology topology, source->Discover(PartKinds{}));
  DriverFacts facts;
  facts.topology = std::make_shared<const Topology>(std::move(topology));
  for (const Field* field : source->FieldsLacked(session.node().source.fields)) {
    facts.lacked.push_back(NameInList(session.node().exporter.counters, *field));
  }
  facts.has_gpm = source->FieldsLacked({doctor_fields::Profiling()}).empty();
  facts.release_reason = source->ReleaseReason();
  const std::vector<const Field*> fields = doctor_fields::All();
  PODGPU_RETURN_IF_ERROR(source->Watch(*facts.topology, fields, std::chrono::seconds(1)).status());
  const auto grid = std::make_shared<Grid>(facts.topology, fields);
  PODGPU_RETURN_IF_ERROR(source->Read(*grid));
  facts.grid = grid;
  return facts;
}

// Returns the remedy for what the driver says when it refuses.
std::string_view RemedyFor(const Status& status) {
  const absl::string_view message = status.message();
  if (message.find("version mismatch") != absl::string_view::npos) {
    return "reboot the node, or restart its driver container: library and kernel module differ";
  }
  if (message.find("Not Loaded") != absl::string_view::npos) {
    return "load the driver of the node (modprobe nvidia), or wait for its driver container";
  }
  if (message.find("GPU is lost") != absl::string_view::npos) {
    return "drain the node and reboot it: systemctl reboot";
  }
  return kSeeKernelLog;
}

std::string SlowestOf(const CallSummary& calls) {
  constexpr double kMicrosecondsPerMillisecond = 1000;
  return absl::StrFormat(
      "%s, slowest %.1f ms (%s)", Counted(calls.calls, "call"),
      static_cast<double>(
          std::chrono::duration_cast<std::chrono::microseconds>(calls.slowest.took).count()) /
          kMicrosecondsPerMillisecond,
      calls.slowest.name);
}

// A call that hangs.  `others_answer`: the answers of the other devices are published.
Finding Hung(const std::string& call, bool others_answer) {
  return {.severity = Severity::kFail,
          .fact = absl::StrFormat("%s has not answered for %d s%s", call,
                                  kCallPatience / std::chrono::seconds(1),
                                  others_answer ? "; the other GPUs are read without it" : ""),
          .lose = {others_answer ? "some_devices" : "device_metrics"},
          .remedy = "drain the node and reboot it, after a look for NVRM in its kernel log: dmesg",
          .change = "a driver that answers",
          .blocks = !others_answer};
}

}  // namespace

Finding CheckPciDevices(Session& session) {
  const PciSurvey survey = SurveyPci(session.sysfs);
  const std::vector<std::string> gpus = ListPciGpus(session.sysfs);
  if (!survey.has_bus) {
    return {.severity = Severity::kNote,
            .fact = absl::StrFormat("no PCI bus below %s", session.command().sysfs_root),
            .lose = {"health"}};
  }
  if (gpus.empty() && session.NamesEngine()) {
    return ReadByEngine(session, absl::StrFormat("no NVIDIA GPU among %s",
                                                 Counted(survey.functions, "PCI function")));
  }
  if (gpus.empty() && survey.other_gpus > 0) {
    return {.severity = Severity::kFail,
            .fact = absl::StrFormat("all %s of this node belong to the driver %s",
                                    Counted(survey.other_gpus, "NVIDIA GPU"), survey.other_driver),
            .lose = {"device_metrics"},
            .remedy = "give the devices back to the driver nvidia, or do not run podgpu here",
            .change = "GPUs for the driver nvidia",
            .blocks = true};
  }
  if (gpus.empty()) {
    return {.severity = Severity::kNote,
            .fact = absl::StrFormat("no NVIDIA GPU among %s; podgpu is ready on such a node",
                                    Counted(survey.functions, "PCI function")),
            .lose = {"device_metrics"},
            .remedy = std::string(kDemo),
            .blocks = true};
  }
  Finding finding = Finding::Ok(absl::StrFormat(
      "%s, %s, %s", Counted(gpus.size(), "NVIDIA GPU"),
      survey.switches == 1 ? "1 NVSwitch" : absl::StrFormat("%d NVSwitches", survey.switches),
      survey.other_gpus == 0
          ? std::string("none bound to another driver")
          : absl::StrFormat("%d more bound to %s", survey.other_gpus, survey.other_driver)));
  for (const std::string& gpu : gpus) {
    finding.evidence.emplace_back("GPU", gpu);
  }
  return finding;
}

Finding CheckDriverNodes(Session& session) {
  DeviceFiles files = LookAtDeviceFiles(session);
  if (files.readable == 0 && session.NamesEngine()) {
    return ReadByEngine(session, "no device files needed");
  }
  Finding finding =
      Finding::Ok(absl::StrFormat("%d of %d device files readable", files.readable, files.found));
  finding.evidence = std::move(files.evidence);
  if (!files.first_bad.empty()) {
    finding.severity = Severity::kWarn;
    finding.fact += ": " + files.first_bad;
    finding.lose = {"some_devices"};
    finding.remedy = kGiveDevices;
    finding.change = "the device files in the container";
  }
  return finding;
}

Finding CheckDriverLibrary(Session& session) {
  const StatusOr<abi::NvmlLibrary> library =
      abi::LoadNvml(session.loader, session.command().source.nvml_library);
  if (!library.ok()) {
    const bool named = session.NamesEngine();
    Finding finding = Failed(named ? Severity::kNote : Severity::kFail, library.status(),
                             {named ? "mig_owners" : "device_metrics"}, kGiveDevices);
    finding.change = named ? "" : "the driver's libraries in the container";
    finding.evidence.emplace_back("path", "the linker's own search");
    for (const std::string_view directory : abi::LibraryDirectories()) {
      finding.evidence.emplace_back("path", directory);
    }
    return finding;
  }
  session.library.Set(std::make_shared<const std::string>(library->name));
  const bool by_search = session.command().source.nvml_library.empty();
  Finding finding =
      Finding::Ok(absl::StrFormat("libnvidia-ml.so.1%s, %s", VersionOfDriver(session),
                                  by_search ? PlaceOf(library->name) : library->name));
  for (const std::string& off : library->off) {
    finding.evidence.emplace_back("off", off);
  }
  return finding;
}

Finding CheckDriverAnswers(Session& session) {
  TracingLoader::Forget();
  const Instant begin = session.seams.clock.Now();
  StatusOr<DriverFacts> facts = ReadDriver(session);
  const std::optional<TracedCall> hung = TracingLoader::Running(begin);
  if (!facts.ok() && hung) {
    return Hung(Words(*hung), false);
  }
  if (!facts.ok()) {
    Finding finding = Failed(session.NamesEngine() ? Severity::kNote : Severity::kFail,
                             facts.status(), {"device_metrics"}, RemedyFor(facts.status()));
    finding.change = session.NamesEngine() ? "" : "a driver that answers";
    return finding;
  }
  if (facts->topology->gpus.empty()) {
    return {
        .severity = session.NamesEngine() ? Severity::kNote : Severity::kFail,
        .fact = absl::StrFormat("the driver %s lists 0 GPUs while the bus has %d",
                                facts->topology->driver_version, ListPciGpus(session.sysfs).size()),
        .lose = {"device_metrics"},
        .remedy = std::string(kSeeKernelLog),
        .blocks = true};
  }
  const std::string version = facts->topology->driver_version;
  session.driver.Set(std::make_shared<const DriverFacts>(*std::move(facts)));
  if (hung) {
    return Hung(Words(*hung), true);
  }
  Finding finding =
      Finding::Ok(absl::StrFormat("%s, driver %s", SlowestOf(TracingLoader::Summary()), version));
  for (const Gpu& gpu : session.topology()->gpus) {
    finding.evidence.emplace_back(absl::StrFormat("GPU %d", gpu.gpu_id),
                                  absl::StrFormat("%s, %s", gpu.model, gpu.pci_bus_id));
  }
  return finding;
}

}  // namespace podgpu
