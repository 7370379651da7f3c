#include "doctor/run.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_format.h"

#include "base/version.h"
#include "base/worker.h"
#include "doctor/call_trace.h"

namespace podgpu {
namespace {

using std::chrono::milliseconds;

// The loss that a check causes when it does not end, by its id or section.
struct SectionLoss {
  std::string_view section, feature, remedy;
};
constexpr std::string_view kKernelLog = "look for NVRM in the kernel log of the node: dmesg";
constexpr std::array kLosses = {
    SectionLoss{"dcgm.engine", "device_metrics",
                "start the host engine (nv-hostengine), or correct --remote-hostengine-info"},
    SectionLoss{"Host", "self_facts", "look at the kernel log of the node: dmesg"},
    SectionLoss{"Driver", "device_metrics", kKernelLog},
    SectionLoss{"GPUs", "health", kKernelLog},
    SectionLoss{"Processes", "process_view", kKernelLog},
    SectionLoss{"Kubernetes", "pod_labels",
                "look at the kubelet's log on this node: journalctl -u kubelet"},
    SectionLoss{"Exporter", "page", "look at the log of the program that listens there"},
};

// Runs `call` on a thread of its own; returns nothing when it does not end within `limit`.
template <typename T, typename Call>
std::optional<T> Within(Session& session, milliseconds limit, Call call) {
  ForeignCalls calls(1, session.written_off);
  Worker timer;
  timer.Start([&, deadline = session.seams.clock.Now() + limit](const std::stop_token& stop) {
    if (session.seams.clock.WaitUntil(deadline, stop)) {
      calls.GiveUp();
    }
  });
  std::optional<T> result = calls.Run<T>(std::move(call), [](const T& /*late*/) {});
  timer.RequestStop();
  timer.JoinWithin(limit);
  return result;
}

Finding RanOut(const Check& check, Instant since, milliseconds limit) {
  const std::optional<TracedCall> call = TracingLoader::Running(since);
  const auto* const loss = std::ranges::find_if(kLosses, [&check](const SectionLoss& one) {
    return one.section == check.id || one.section == check.section;
  });
  Finding finding = {.severity = Severity::kWarn, .blocks = true};
  finding.fact = absl::StrFormat("%s has not answered for %g s", call ? Words(*call) : "this check",
                                 std::chrono::duration<double>(limit).count());
  finding.lose.emplace_back(loss->feature);
  finding.remedy = loss->remedy;
  if (check.section == "Driver") {
    finding.severity = Severity::kFail;
    finding.change =
        check.id == "dcgm.engine" ? "a host engine that answers" : "a driver that answers";
  }
  return finding;
}

// Returns the finding of a check whose cause failed; nothing when the check can run.
std::optional<Finding> SkippedBy(const DoctorResult& result, std::string_view cause) {
  const CheckResult* const before = result.Find(cause);
  if (before == nullptr || !before->finding.blocks) {
    return std::nullopt;
  }
  Finding finding = {.severity = Severity::kSkip, .blocks = true};
  if (!before->finding.caused_by.empty()) {
    finding.caused_by = before->finding.caused_by;
  } else if (before->finding.severity == Severity::kSkip) {
    finding.fact = before->finding.fact;
  } else {
    finding.caused_by = cause;
  }
  return finding;
}

// A check may name a cause that was itself skipped.
void NameRoot(const DoctorResult& result, Finding& finding) {
  if (finding.severity == Severity::kSkip && !finding.caused_by.empty()) {
    const CheckResult* const cause = result.Find(finding.caused_by);
    if (cause != nullptr && !cause->finding.caused_by.empty()) {
      finding.caused_by = cause->finding.caused_by;
    }
  }
}

Finding RunOne(const std::shared_ptr<Session>& session, const Check& check, milliseconds limit) {
  if (limit <= milliseconds(0)) {
    return Finding::Skip("the 10 s of the whole run are over");
  }
  const Instant begin = session->seams.clock.Now();
  std::optional<Finding> finding =
      Within<Finding>(*session, limit, [session, run = check.run] { return run(*session); });
  return finding ? *std::move(finding) : RanOut(check, begin, limit);
}

bool Works(const DoctorResult& result, std::string_view id, Severity worst) {
  const CheckResult* const check = result.Find(id);
  return check != nullptr && check->finding.severity <= worst;
}

Gift GiftOf(const DoctorResult& result, std::string_view feature, std::string_view check,
            bool asked, Severity worst) {
  Gift gift{feature, asked && Works(result, check, worst), asked, {}};
  if (!gift.available && asked) {
    const CheckResult* const found = result.Find(check);
    const CheckResult* const cause =
        found == nullptr ? nullptr : result.Find(found->finding.caused_by);
    gift.because = cause == nullptr ? check : cause->id;
  }
  return gift;
}

std::vector<Gift> GiftsIn(const DoctorResult& result, const ExporterOptions& options) {
  std::vector<Gift> gives = {
      GiftOf(result, "device_metrics", "source.choice", true, Severity::kWarn),
      GiftOf(result, "profiling", "gpu.profiling", true, Severity::kOk),
      GiftOf(result, "pod_labels", "kube.mapping", options.kubernetes, Severity::kWarn),
      GiftOf(result, "process_energy", "process.namespace", options.processes.enabled,
             Severity::kOk),
      GiftOf(result, "xid", "source.choice", true, Severity::kWarn),
      GiftOf(result, "health", "source.choice", true, Severity::kWarn)};
  return gives;
}

}  // namespace

DoctorResult RunChecks(const std::shared_ptr<Session>& session, const DoctorLimits& limits) {
  Clock& clock = session->seams.clock;
  const Instant begin = clock.Now();
  const auto left = [&] {
    const auto used = std::chrono::duration_cast<milliseconds>(clock.Now() - begin);
    return std::min(limits.check, limits.all - used);
  };
  DoctorResult result{.version = std::string(kVersion),
                      .host = session->seams.system.hostname,
                      .in_container = IsInContainer(*session)};
  Within<bool>(*session, left(), [session] {
    ReadConfiguration(*session);
    return true;
  });
  for (const Check& check : CheckTable()) {
    const Instant start = clock.Now();
    std::optional<Finding> skipped = SkippedBy(result, check.cause);
    Finding finding = skipped ? *std::move(skipped) : RunOne(session, check, left());
    NameRoot(result, finding);
    const std::chrono::duration<double, std::milli> took = clock.Now() - start;
    result.checks.push_back({check.id, check.section, std::move(finding), took.count()});
  }
  result.gives = GiftsIn(result, session->command().exporter);
  result.seconds = std::chrono::duration<double>(clock.Now() - begin).count();
  return result;
}

}  // namespace podgpu
