#include "top/notes.h"

#include <algorithm>

#include "absl/strings/str_format.h"

#include "base/text.h"
#include "base/time_text.h"
#include "top/words.h"
#include "ui/status_words.h"

namespace podgpu {
namespace {

// Returns for example "GPU 3 lost 2m15s: XID 79, left the PCIe bus. Reboot the node."
std::string FaultText(const NodeStatus& status, const StatusFault& fault, int64_t now_ms) {
  std::string text = fault.text;
  const size_t cause = fault.text.find(": ");
  if (fault.gpu && cause != std::string::npos) {
    const auto gpu = std::ranges::find(status.gpus, *fault.gpu, &StatusGpu::index);
    const std::optional<int64_t> since_ms =
        gpu != status.gpus.end() ? gpu->since_ms : std::optional<int64_t>();
    if (since_ms) {
      text = absl::StrFormat("GPU %d %s %s%s", *fault.gpu, ShortState(fault.state),
                             SpanText(now_ms - *since_ms), fault.text.substr(cause));
    }
  }
  text += text.ends_with('.') ? "" : ".";
  return fault.remedy.empty() ? text : text + " " + SentenceWords(fault.remedy);
}

std::string MissingText(const NodeStatus& status, const StatusMissing& missing) {
  return absl::StrFormat("not shown: %s%s%s: %s", missing.what,
                         missing.gpus.empty() ? "" : ", GPU ", missing.gpus,
                         ReasonWords(status, missing));
}

// The number of further sentences, and where they stand.
std::string MoreText(size_t all, bool is_explained) {
  std::string text = all > 1 ? absl::StrFormat("  +%d more", all - 1) : "";
  return text + (is_explained || all > 1 ? "  (4 explains)" : "");
}

}  // namespace

std::vector<std::string> WrappedTo(std::string_view text, size_t columns, size_t most) {
  constexpr size_t kHanging = 2;
  std::vector<std::string> lines = Wrapped(text, columns - 1, kHanging);
  for (size_t i = 1; i < lines.size(); ++i) {
    lines[i].insert(0, kHanging, ' ');
  }
  if (lines.size() > most) {
    lines.resize(most);
    lines.back() = CutTo(lines.back() + " …", columns);
  }
  return lines;
}

std::vector<std::string> FootLines(const NodeStatus& status, int64_t now_ms, size_t columns,
                                   size_t most) {
  const std::vector<std::string> notes = AllNotes(status, now_ms);
  if (notes.empty()) {
    return {};
  }
  const bool is_explained = !status.faults.empty() && !status.faults.front().explain.empty();
  std::string more = MoreText(notes.size(), is_explained);
  std::vector<std::string> lines = WrappedTo(notes.front(), columns, most + 1);
  if (lines.size() <= most && WidthOf(lines.back() + more) < columns) {
    lines.back() += more;
  } else if (lines.size() < most) {
    lines.push_back(more);
  } else {
    // The words after the cut are in the pane Explain, which the last line names.
    more = more.empty() ? "  (4 explains)" : more;
    lines.resize(most);
    lines.back() = CutTo(lines.back(), columns - 1 - WidthOf(more));
    lines.back() += (lines.back().ends_with("…") ? "" : "…") + more;
  }
  return lines;
}

std::vector<std::string> AllNotes(const NodeStatus& status, int64_t now_ms,
                                  std::optional<uint32_t> without) {
  std::vector<std::string> notes;
  for (const StatusFault& fault : status.faults) {
    const size_t cause = fault.text.find(": ");
    const bool is_told = status.gpus.empty() && cause != std::string::npos &&
                         status.verdict.find(fault.text.substr(cause)) != std::string::npos;
    if (!is_told && (!fault.gpu || fault.gpu != without)) {
      notes.push_back(FaultText(status, fault, now_ms));
    }
  }
  for (const StatusMissing& missing : status.missing) {
    notes.push_back(MissingText(status, missing));
  }
  return notes;
}

std::string NoGpuText(const NodeStatus& status) {
  std::string_view reason = Trim(status.verdict, ". \n");
  for (const std::string_view word :
       {"ready: ", "not ready: ", "no NVIDIA GPU on this node: "}) {  // Said before it.
    reason.remove_prefix(reason.starts_with(word) ? word.size() : 0);
  }
  return absl::StrFormat("%s on %s: %s. podgpu doctor says more",
                         status.ready ? "no GPU" : "waiting for the GPUs", status.node, reason);
}

std::string CostText(const NodeStatus& status) {
  constexpr double kMib = 1024.0 * 1024, kPercent = 100;
  std::string text = "podgpu " + status.version;
  if (status.self.resident_bytes) {
    absl::StrAppendFormat(&text, ": %.1f MiB resident",
                          static_cast<double>(*status.self.resident_bytes) / kMib);
  }
  if (status.self.cpu_ratio) {
    absl::StrAppendFormat(&text, ", %.2f %% of a core", *status.self.cpu_ratio * kPercent);
  }
  absl::StrAppendFormat(&text, ", %d series", status.self.series);
  return text;
}

}  // namespace podgpu
