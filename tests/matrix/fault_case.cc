#include "tests/matrix/fault_case.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_format.h"

#include "base/text.h"
#include "tests/strict_parser.h"

namespace podgpu {
namespace {

// Long enough for a call to pass its deadline, to be interrupted and repeated, and for its values
// to become stale.
constexpr int kPeriodsOfFault = 5;
// A field that an engine refused is retried each minute.
constexpr int kStepsToTryAgain = 7;
// What a page may show: samples of this period, and of earlier periods while they are not stale.
constexpr int kPhasesShown = static_cast<int>(kMatrixStaleAfter / kMatrixStep) + 1;

bool Holds(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

class CaseRun {
 public:
  CaseRun(MatrixNode& node, const FaultCase& fault_case, const Reference& reference)
      : node_(node), case_(fault_case), reference_(reference) {}

  std::vector<std::string> Run() {
    if (case_.scene != Scene::kStart) {
      before_ = node_.counts();
    }
    Break();
    for (int period = 0; period < kPeriodsOfFault; ++period) {
      Pass();
    }
    JudgeBroken();
    const bool is_refused = Holds(node_.Fetch("/").body, "some fields are absent");
    Heal();
    const int limit = is_refused ? kStepsToTryAgain : case_.steps_to_heal;
    if (!AwaitHealthy(node_, reference_, limit)) {
      Complain(absl::StrFormat("is not back after %d steps: %s", limit, Difference()));
    } else {
      JudgeHealed();
    }
    return complaints_;
  }

 private:
  void Complain(std::string what) { complaints_.push_back(std::move(what)); }

  void Break() {
    node_.vendor().inject(case_.symbol, case_.column.fault);
    switch (case_.scene) {
      case Scene::kStart:
        node_.Start();
        break;
      case Scene::kSteady:
        break;
      case Scene::kRelayout:
        node_.vendor().set_layout(Layout::kOther);
        break;
      case Scene::kReconnect:
        node_.vendor().set_down(true);
        node_.Step();
        node_.vendor().set_down(false);
        break;
    }
  }

  void Pass() {
    const uint64_t ticks = node_.ticks();
    node_.Step();
    if (node_.ticks() == ticks) {
      Complain("no tick in a period");
    }
    const DeviceLines lines = DeviceLinesOf(node_.Page());
    for (const std::string& line : lines.measured) {
      if (!case_.column.may_pass && !MayBeShown(line)) {
        Complain("shows what was never sampled, or is stale: " + line);
        break;
      }
    }
    if (case_.column.kind == FaultKind::kLate && node_.clock().blocked() > 0 && is_late_) {
      node_.vendor().free(case_.symbol);
      node_.clock().AwaitQuiet();
    }
    is_late_ = node_.clock().blocked() > 0;
  }

  bool MayBeShown(const std::string& line) const {
    for (int age = 0; age < kPhasesShown; ++age) {
      for (const auto& layout : reference_.pages) {
        if (layout[PhaseBefore(age)].measured.contains(line)) {
          return true;
        }
      }
    }
    return false;
  }

  // Returns whether the library answers with values that mean nothing or something else.
  bool IsNonsense() const {
    return case_.column.kind == FaultKind::kGarbage || case_.column.kind == FaultKind::kSentinel;
  }

  size_t PhaseBefore(int steps) const {
    return static_cast<size_t>((node_.phase() - steps + kPhases) % kPhases);
  }

  size_t ShownLayout() const { return case_.scene == Scene::kRelayout ? 1 : 0; }

  // Returns whether something is missing that a healthy node would show, now or while the last
  // samples are not stale.  The page of a healthy node with another layout is allowed too: the
  // library may have reported that layout.
  bool LacksMeasurements(const std::string& page) const {
    const DeviceLines lines = DeviceLinesOf(page);
    for (size_t layout = 0; layout < kLayoutCount; ++layout) {
      for (int age = 0; age < kPhasesShown; ++age) {
        if ((layout == ShownLayout() || IsNonsense()) &&
            std::ranges::includes(lines.measured,
                                  reference_.pages[layout][PhaseBefore(age)].measured)) {
          return false;
        }
      }
    }
    return true;
  }

  void JudgeBroken() {
    if (node_.Fetch("/healthz").status != 200) {
      Complain("/healthz does not answer 200");
    }
    const std::string page = node_.Fetch("/metrics").body;
    if (const auto parsed = ParseTextStrictly(page); !parsed.ok()) {
      Complain("the page is broken: " + std::string(parsed.status().message()));
    }
    if (!case_.column.may_pass && LacksMeasurements(page)) {
      JudgeReason(page);
    }
  }

  // When something is missing, the status page must tell why.
  void JudgeReason(const std::string& page) {
    const bool source_is_ok = NumberOf(page, "podgpu_source_state{state=\"ok\"}") == "1";
    const bool has_absent = SumOf(page, "podgpu_absent_samples") > reference_.absent[ShownLayout()];
    if (source_is_ok && !has_absent && !HasTroubledGpu(page) && !CountsNone()) {
      Complain("values are missing and nothing says so");
    }
    const bool serves = NumberOf(page, "podgpu_source_state{state=\"unresponsive\"}") != "1" &&
                        NumberOf(page, "podgpu_source_state{state=\"waiting\"}") != "1";
    if (serves) {
      return;
    }
    const std::string words = node_.Fetch("/").body;
    // The driver answers but no GPU is served.  The status page says so, and podgpu_absent_samples
    // or podgpu_gpu_state tells what the code means for a device or field.
    const bool names_absence = has_absent && Holds(words, "its values are absent as");
    if (names_absence || (HasTroubledGpu(page) && Holds(words, "no GPU is served"))) {
      return;
    }
    const bool names_cause = Holds(words, "DCGM ") || Holds(words, "NVML ") ||
                             Holds(words, "has not returned") ||
                             Holds(words, "accepts the connection but does not answer") ||
                             Holds(words, "a hung call has returned") || Holds(words, case_.symbol);
    if (case_.column.kind == FaultKind::kCode && !Holds(words, case_.column.name)) {
      Complain("the status page does not name the code");
    } else if (!IsNonsense() && !names_cause) {
      Complain("the status page names no cause");
    }
  }

  // Returns whether the page shows a GPU in a bad state.  An engine that never listed a switch or
  // CPU is believed: the status page counts none.
  bool CountsNone() {
    const std::string words = node_.Fetch("/").body;
    return Holds(words, ", 0 links") || Holds(words, ", 0 CPUs") || Holds(words, " 0 GPUs");
  }

  static bool HasTroubledGpu(std::string_view page) {
    return std::ranges::any_of(Split(page, '\n'), [](std::string_view line) {
      return line.starts_with("podgpu_gpu_state{") && line.ends_with(" 1") &&
             !Holds(line, "state=\"ok\"");
    });
  }

  void Heal() {
    node_.vendor().heal(case_.symbol);
    node_.vendor().set_layout(Layout::kUsual);
    node_.vendor().set_down(false);
    node_.clock().AwaitQuiet();
    if (case_.column.sticks) {
      node_.vendor().set_down(true);
      node_.Step();
      node_.vendor().set_down(false);
    }
  }

  void JudgeHealed() {
    const std::string page = node_.Fetch("/metrics").body;
    if (NumberOf(page, "podgpu_ready") != "1") {
      Complain("is not ready afterwards: " + node_.Fetch("/readyz").body);
    }
    if (NumberOf(page, "podgpu_source_state{state=\"ok\"}") != "1") {
      Complain("the source is not ok afterwards");
    }
    if (node_.clock().blocked() != 0) {
      Complain("a call is still held up");
    }
    const HeldResources now = node_.counts();
    if (before_ && now != *before_) {
      Complain(absl::StrFormat("%d threads and %d descriptors, before %d and %d", now.threads,
                               now.descriptors, before_->threads, before_->descriptors));
    }
  }

  std::string Difference() const {
    const DeviceLines now = DeviceLinesOf(node_.Page());
    const DeviceLines& then = reference_.pages[0][static_cast<size_t>(node_.phase())];
    std::vector<std::string> more;
    std::vector<std::string> fewer;
    std::ranges::set_difference(now.whole, then.whole, std::back_inserter(more));
    std::ranges::set_difference(then.whole, now.whole, std::back_inserter(fewer));
    return absl::StrFormat("%d lines too many (%s), %d missing (%s)", more.size(),
                           more.empty() ? "" : more.front(), fewer.size(),
                           fewer.empty() ? "" : fewer.front());
  }

  MatrixNode& node_;
  const FaultCase& case_;
  const Reference& reference_;
  std::optional<HeldResources> before_;
  bool is_late_ = false;  // A call was blocked before this period, too.
  std::vector<std::string> complaints_;
};

}  // namespace

std::string_view SceneName(Scene scene) {
  constexpr std::array<std::string_view, kScenes.size()> kNames = {"steady", "relayout",
                                                                   "reconnect", "start"};
  return kNames[static_cast<size_t>(scene)];
}

Reference RecordReference(const Vendor& vendor, size_t mode) {
  Reference reference;
  for (size_t layout = 0; layout < reference.pages.size(); ++layout) {
    MatrixNode node(vendor, mode);
    node.vendor().set_layout(static_cast<Layout>(layout));
    node.Start();
    for (int i = 0; i < kPhases; ++i) {
      node.Step();
      reference.pages[layout][static_cast<size_t>(node.phase())] = DeviceLinesOf(node.Page());
    }
    reference.absent[layout] = SumOf(node.Page(), "podgpu_absent_samples");
  }
  return reference;
}

std::set<std::string> RecordCalls(const Vendor& vendor, size_t mode, Scene scene) {
  MatrixNode node(vendor, mode);
  node.Start();
  if (scene != Scene::kStart) {
    node.Step();
    node.vendor().forget_calls();
  }
  if (scene == Scene::kReconnect) {
    node.vendor().set_down(true);
    node.Step();
    node.vendor().set_down(false);
  }
  node.vendor().set_layout(scene == Scene::kRelayout ? Layout::kOther : Layout::kUsual);
  for (int i = 0; i < kPeriodsOfFault; ++i) {
    node.Step();
  }
  std::set<std::string> called = node.vendor().called();
  called.insert(vendor.of_every_scene.begin(), vendor.of_every_scene.end());
  return called;
}

bool AwaitHealthy(MatrixNode& node, const Reference& reference, int limit) {
  for (int period = 0; period < limit; ++period) {
    node.Step();
    const DeviceLines& healthy = reference.pages[0][static_cast<size_t>(node.phase())];
    if (DeviceLinesOf(node.Page()).whole == healthy.whole) {
      return true;
    }
  }
  return false;
}

std::vector<std::string> RunCase(MatrixNode& node, const FaultCase& fault_case,
                                 const Reference& reference) {
  return CaseRun(node, fault_case, reference).Run();
}

}  // namespace podgpu
