#include "sim/program/control_log.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"

#include "base/files.h"
#include "base/text.h"
#include "sim/program/control_words.h"
#include "sim/program/units.h"
#include "sim/scenario/compile.h"
#include "sim/scenario/fault_table.h"
#include "sim/world/image.h"
#include "yaml/yaml_tree.h"

namespace podgpu::sim {
namespace {

constexpr std::string_view kScenarioName = "scenario.yaml";
constexpr std::string_view kControlName = "control.yaml";
constexpr std::string_view kAcceptedName = "control.accepted";  // The log in force.
constexpr int kAttempts = 8;  // Each allows twice the compile time of the previous one.

struct Entry {
  TimeUs at = 0;
  const FaultRow* row = nullptr;
  std::optional<int> gpu;
  std::string said;  // The whole entry in a normal form.
  int line = 1, column = 1;
};

struct ControlLog {
  std::string text;  // As written, with relative times made absolute.
  std::vector<Entry> entries;
  TimeUs first_new = std::numeric_limits<TimeUs>::max();
};

std::string Path(const RunWriter& node, std::string_view name) {
  return absl::StrFormat("%s/%s", node.directory(), name);
}

std::span<const std::byte> Bytes(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

// The file's content; empty when there is no file.
StatusOr<std::string> ReadIfThere(const std::string& path) {
  StatusOr<std::string> text = SystemFiles().Read(path);
  return absl::IsNotFound(text.status()) ? StatusOr<std::string>(std::string()) : text;
}

// Quotes a text that YAML could read as something else.
std::string Scalar(const std::string& text) {
  const bool plain = std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_.+-/%").find(c) != std::string_view::npos;
  });
  if (plain) {
    return text;
  }
  std::string quoted = "\"";
  for (const char c : text) {
    quoted += c == '"' || c == '\\' ? "\\" : "";
    quoted += c;
  }
  return quoted + "\"";
}

std::string Flow(const YamlNode& node) {
  if (node.kind == YamlNode::Kind::kScalar || node.kind == YamlNode::Kind::kNull) {
    return Scalar(node.text);
  }
  const bool is_map = node.kind == YamlNode::Kind::kMap;
  std::string text;
  for (size_t i = 0; i < node.items.size(); ++i) {
    text += i == 0 ? "" : ", ";
    text += is_map ? Flow(node.keys[i]) + ": " : "";
    text += Flow(node.items[i]);
  }
  return is_map ? "{" + text + "}" : "[" + text + "]";
}

const YamlNode* Find(const YamlNode& map, std::string_view key) {
  for (size_t i = 0; i < map.keys.size(); ++i) {
    if (map.keys[i].text == key) {
      return &map.items[i];
    }
  }
  return nullptr;
}

// The state that a new entry meets: the log in force, and the earliest time it may take effect.
struct Present {
  const std::vector<Entry>* accepted;
  TimeUs now = 0;
  TimeUs earliest = 0;
};

// Reads a log and makes its times absolute, relative to `present`.
class LogReader {
 public:
  LogReader(std::string text, std::string_view file, const Present& present)
      : file_(file), present_(present) {
    log_.text = std::move(text);
  }

  StatusOr<ControlLog> Read() {
    std::vector<YamlError> broken;
    YamlNode root = ReadYaml(log_.text, broken);
    for (const YamlError& error : broken) {
      Complain(error.line, error.column, error.what);
    }
    if (broken.empty() && root.kind != YamlNode::Kind::kNull &&
        root.kind != YamlNode::Kind::kList) {
      Complain(1, 1, "the control log is a list of entries: - {at: now+2s, kind: ...}");
    } else if (broken.empty()) {
      ReadEntries(root);
      if (complaints_.empty()) {
        CheckHistory();
      }
    }
    if (!complaints_.empty()) {
      return absl::InvalidArgumentError(complaints_);
    }
    return std::move(log_);
  }

 private:
  void Complain(int line, int column, std::string_view what) {
    complaints_ += absl::StrFormat("%s%s:%d:%d: %s", complaints_.empty() ? "" : "\n", file_, line,
                                   column, what);
  }

  void ReadEntries(YamlNode& root) {
    for (size_t i = 0; i < root.items.size(); ++i) {
      ReadEntry(root.items[i], absl::StrFormat("[%d]", i));
    }
    // From the end, so the positions of earlier times stay valid.
    for (auto time = relative_.rbegin(); time != relative_.rend(); ++time) {
      Replace(*time);
    }
  }

  void ReadEntry(YamlNode& node, const std::string& path) {
    if (node.kind != YamlNode::Kind::kMap) {
      Complain(node.line, node.column, path + ": an entry is a map: {at: now+2s, kind: ...}");
      return;
    }
    Entry entry;
    entry.line = node.line;
    entry.column = node.column;
    const YamlNode* kind = Find(node, "kind");
    const std::string name = kind == nullptr ? "" : kind->text;
    entry.row = FindFaultRow(name);
    if (entry.row == nullptr) {
      const YamlNode& place = kind == nullptr ? node : *kind;
      Complain(place.line, place.column, path + ".kind: " + NoFaultKind(name));
      return;
    }
    if (const YamlNode* gpu = Find(node, "gpu"); gpu != nullptr) {
      if (const std::optional<uint64_t> index = ParseDecimal(gpu->text); index && *index < 1024) {
        entry.gpu = static_cast<int>(*index);
      }
    }
    if (auto* at = const_cast<YamlNode*>(Find(node, "at")); at != nullptr) {
      if (!ReadTime(*at, path, entry)) {
        return;
      }
    } else {
      Complain(node.line, node.column, path + ".at: missing; write at: now+2s or a world time");
      return;
    }
    entry.said = Flow(node);
    log_.entries.push_back(std::move(entry));
  }

  // Returns false, with a complaint, when it is not a time.
  bool ReadTime(YamlNode& at, const std::string& path, Entry& entry) {
    const bool is_relative = at.text == "now" || at.text.starts_with("now+");
    const std::string_view written =
        is_relative ? std::string_view(at.text).substr(std::min<size_t>(4, at.text.size()))
                    : std::string_view(at.text);
    const std::optional<TimeUs> time = at.text == "now" ? 0 : ParseTime(written);
    if (!time) {
      Complain(at.line, at.column,
               absl::StrFormat("%s.at: \"%s\" is not a time; write 90s, 1.5s, 200ms or now+2s",
                               path, at.text));
      return false;
    }
    entry.at = *time;
    if (is_relative) {
      entry.at = std::max(present_.now + *time, present_.earliest);
      const std::string absolute = FormatTime(entry.at);
      relative_.push_back({at.line, at.column, at.text.size(), absolute});
      at.text = absolute;
    }
    return true;
  }

  struct RelativeTime {
    int line, column;
    size_t size;
    std::string absolute;
  };

  void Replace(const RelativeTime& time) {
    size_t start = 0;
    for (int line = 1; line < time.line; ++line) {
      start = log_.text.find('\n', start) + 1;
    }
    // The place of a quoted scalar is that of its quote.
    start = log_.text.find("now", start + static_cast<size_t>(time.column - 1));
    log_.text.replace(start, time.size, time.absolute);
  }

  // Entries that have taken effect must not change, and new ones must not take effect too soon.
  void CheckHistory() {
    std::multiset<std::string> kept;
    for (const Entry& entry : log_.entries) {
      kept.insert(entry.said);
    }
    std::multiset<std::string> known;
    for (const Entry& entry : *present_.accepted) {
      known.insert(entry.said);
      const auto match = kept.find(entry.said);
      if (match != kept.end()) {
        kept.erase(match);
      } else if (entry.at < present_.earliest) {
        Complain(
            1, 1,
            absl::StrFormat("the entry %s has taken effect and cannot change; restore it, and add "
                            "an entry that undoes it",
                            entry.said));
      }
    }
    for (const Entry& entry : log_.entries) {
      const auto match = known.find(entry.said);
      if (match != known.end()) {
        known.erase(match);
        continue;
      }
      log_.first_new = std::min(log_.first_new, entry.at);
      if (entry.at < present_.earliest) {
        Complain(entry.line, entry.column,
                 absl::StrFormat("at %s is past or too soon: world time is %s. Write now+2s",
                                 FormatTime(entry.at), FormatTime(present_.now)));
      }
    }
  }

  const std::string file_;
  const Present present_;
  ControlLog log_;
  std::vector<RelativeTime> relative_;
  std::string complaints_;
};

// The lead of a new entry in world time; with a manual clock, real time counts.
TimeUs Lead(const RunWriter& node) {
  const TimeUs least = std::chrono::microseconds(kControlLead).count();
  return std::max(least, node.WorldTimeOf(kControlLead));
}

// Reads the log in force.  It was valid when it was accepted, so it is not checked again.
StatusOr<ControlLog> Accepted(const RunWriter& node) {
  PODGPU_ASSIGN_OR_RETURN(std::string text, ReadIfThere(Path(node, kAcceptedName)));
  const std::vector<Entry> none;
  return LogReader(std::move(text), kAcceptedName, {.accepted = &none}).Read();
}

// Writes the log in force for people to read, unless someone has saved an edit meanwhile; that edit
// is read next.
Status ShowLog(const RunWriter& node, const std::string& file_before, const std::string& text) {
  PODGPU_ASSIGN_OR_RETURN(const std::string file, ReadIfThere(Path(node, kControlName)));
  if (file != file_before || file == text) {
    return absl::OkStatus();
  }
  return ReplaceFile(Path(node, kControlName), Bytes(text));
}

// Compiles the log `text` and publishes it.
StatusOr<ControlLog> Apply(RunWriter& node, const std::string& text) {
  PODGPU_ASSIGN_OR_RETURN(const std::string file, ReadIfThere(Path(node, kControlName)));
  PODGPU_ASSIGN_OR_RETURN(const ControlLog accepted, Accepted(node));
  PODGPU_ASSIGN_OR_RETURN(const std::string scenario,
                          SystemFiles().Read(Path(node, kScenarioName)));
  const TimeUs lead = Lead(node);
  TimeUs margin = node.mode() == ClockMode::kManual ? lead : 2 * lead;
  for (int attempt = 0; attempt < kAttempts; ++attempt, margin *= 2) {
    const TimeUs now = node.Now();
    PODGPU_ASSIGN_OR_RETURN(
        ControlLog log,
        LogReader(text, kControlName,
                  {.accepted = &accepted.entries, .now = now, .earliest = now + margin})
            .Read());
    const CompileResult compiled = CompileScenario(scenario, kScenarioName, log.text, kControlName);
    if (!compiled.errors.empty()) {
      std::string lines;
      for (const std::string& error : compiled.errors) {
        lines += (lines.empty() ? "" : "\n") + error;
      }
      return absl::InvalidArgumentError(lines);
    }
    if (log.first_new - lead < node.Now()) {
      continue;  // Compiling took longer than the margin.
    }
    PODGPU_RETURN_IF_ERROR(ReplaceFile(Path(node, kAcceptedName), Bytes(log.text)));
    PODGPU_RETURN_IF_ERROR(ShowLog(node, file, log.text));
    PODGPU_RETURN_IF_ERROR(node.PublishControl(compiled.image));
    return log;
  }
  return absl::DeadlineExceededError(absl::StrFormat(
      "%s: this world takes longer to compile than the log allows; give a later time with --at",
      node.directory()));
}

// The log in force with one entry per line, so lines can be appended.
std::string Lines(const ControlLog& log) {
  std::string text;
  for (const Entry& entry : log.entries) {
    text += "- " + entry.said + "\n";
  }
  return text;
}

// "[{profile: 3g.40gb, start: 4, ci: [1c.3g.40gb, 2c.3g.40gb]}]", as a scenario writes it; with
// start positions, since they do not follow from the order of instances.
std::string Layout(const World& world, int gpu, TimeUs t) {
  std::string layout;
  for (int i = 0; i < world.instance_count(gpu, t); ++i) {
    const GpuInstanceFacts instance = world.instance(gpu, i, t);
    std::string computes;
    bool is_whole = world.compute_count(gpu, i, t) == 1;
    for (int c = 0; c < world.compute_count(gpu, i, t); ++c) {
      const std::string_view compute = world.compute(gpu, i, c, t).profile;
      is_whole = is_whole && compute == instance.profile;
      computes += absl::StrFormat("%s%s", computes.empty() ? "" : ", ", compute);
    }
    layout += absl::StrFormat("%s{profile: %s, start: %d%s}", layout.empty() ? "" : ", ",
                              instance.profile, instance.placement_start,
                              is_whole ? "" : absl::StrFormat(", ci: [%s]", computes));
  }
  return "[" + layout + "]";
}

// The state of `kind` of `gpu` in `world` at t, as the rest of an entry.
std::string Setting(const World& world, FaultKind kind, int gpu, TimeUs t) {
  if (kind == FaultKind::kPowerLimit) {
    return absl::StrFormat("kind: power_limit, gpu: %d, watts: %d", gpu,
                           world.PowerLimitMw(gpu, t) / 1000);
  }
  if (world.mig_enabled(gpu, t) && world.instance_count(gpu, t) == 0) {
    return absl::StrFormat("kind: mig_mode, gpu: %d, mode: enabled", gpu);
  }
  return absl::StrFormat("kind: mig_set, gpu: %d, layout: %s", gpu, Layout(world, gpu, t));
}

bool IsSetting(FaultKind kind) {
  return kind == FaultKind::kPowerLimit || kind == FaultKind::kMigSet ||
         kind == FaultKind::kMigMode;
}

// Lines that undo at `healed_at` what `entries` have changed or started.
std::set<std::string> Undo(const std::vector<Entry>& entries, std::optional<FaultKind> only,
                           const World& scenario, const World& present, TimeUs healed_at) {
  std::set<std::string> undo;
  const std::string at = FormatTime(healed_at);
  for (const Entry& entry : entries) {
    const FaultKind kind = entry.row->kind;
    if (only && kind != *only) {
      continue;
    }
    if (IsSetting(kind)) {
      const std::string wanted = Setting(scenario, kind, entry.gpu.value_or(0), healed_at);
      if (Setting(present, kind, entry.gpu.value_or(0), healed_at) != wanted) {
        undo.insert(absl::StrFormat("- {at: %s, %s}\n", at, wanted));
      }
    }
    // The entry is present, since the log may end or heal the fault before that time.
    const bool begun = kind != FaultKind::kHeal && entry.row->lasts;
    if (begun && std::ranges::any_of(present.faults(), [&](const Fault& fault) {
          return fault.kind == kind && fault.at == entry.at && fault.InForce(healed_at) &&
                 (!IsSetting(kind) || fault.until != kForever);
        })) {
      undo.insert(absl::StrFormat("- {at: %s, kind: heal, of: %s}\n", at, entry.row->name));
    }
  }
  return undo;
}

// The complaints about the entry with index `last`, without its place in the file.
Status AboutEntry(const Status& status, size_t last) {
  if (!absl::IsInvalidArgument(status)) {
    return status;
  }
  const std::string path = absl::StrFormat("[%d]", last);
  std::string lines;
  const std::string all(status.message());
  for (const std::string_view line : Split(all, '\n')) {
    const size_t found = line.find(": " + path);
    const bool own = found != std::string_view::npos && line.starts_with(kControlName);
    std::string_view rest = own ? line.substr(found + 2 + path.size()) : line;
    if (own) {
      rest.remove_prefix(rest.starts_with(": ") ? 2 : 1);
    }
    lines += (lines.empty() ? "" : "\n") + std::string(rest);
  }
  return absl::InvalidArgumentError(lines);
}

}  // namespace

StatusOr<TimeUs> AppendControl(RunWriter& node, std::string_view entry, std::optional<TimeUs> at) {
  PODGPU_RETURN_IF_ERROR(AcceptControlFile(node).status());
  PODGPU_ASSIGN_OR_RETURN(const ControlLog accepted, Accepted(node));
  const std::string line = absl::StrFormat("- {at: %s, %s}\n", at ? FormatTime(*at) : "now", entry);
  const StatusOr<ControlLog> log = Apply(node, Lines(accepted) + line);
  if (!log.ok()) {
    return AboutEntry(log.status(), accepted.entries.size());
  }
  return log->entries.back().at;
}

StatusOr<bool> AcceptControlFile(RunWriter& node) {
  PODGPU_ASSIGN_OR_RETURN(const std::string text, ReadIfThere(Path(node, kControlName)));
  PODGPU_ASSIGN_OR_RETURN(const std::string accepted, ReadIfThere(Path(node, kAcceptedName)));
  if (text == accepted || text.empty()) {  // Empty: missing, or being written.
    return false;
  }
  PODGPU_RETURN_IF_ERROR(Apply(node, text).status());
  return true;
}

StatusOr<std::optional<TimeUs>> HealControl(RunWriter& node, std::optional<FaultKind> kind) {
  PODGPU_RETURN_IF_ERROR(AcceptControlFile(node).status());
  PODGPU_ASSIGN_OR_RETURN(ControlLog log, Accepted(node));
  PODGPU_ASSIGN_OR_RETURN(const std::string image, SystemFiles().Read(Path(node, "world.bin")));
  PODGPU_ASSIGN_OR_RETURN(const std::string control, ReadIfThere(Path(node, "control.bin")));
  if (log.entries.empty() || control.empty()) {
    return std::optional<TimeUs>();
  }
  std::string error;
  const std::unique_ptr<World> scenario = World::Open(Bytes(image), error);
  const std::unique_ptr<World> present = World::Open(Bytes(control), error);
  if (scenario == nullptr || present == nullptr) {
    return absl::DataLossError(node.directory() + ": " + error);
  }
  // A change nearer than this can no longer be dropped; it is undone after it takes effect.
  const TimeUs healed_at = node.Now() + 4 * Lead(node);
  std::erase_if(log.entries, [&](const Entry& one) {
    return one.at >= healed_at && (!kind || one.row->kind == *kind);
  });
  const std::set<std::string> undo = Undo(log.entries, kind, *scenario, *present, healed_at);
  std::string text = Lines(log);
  for (const std::string& line : undo) {
    text += line;
  }
  PODGPU_ASSIGN_OR_RETURN(log, Apply(node, text));
  return undo.empty() ? std::optional<TimeUs>() : log.entries.back().at;
}

}  // namespace podgpu::sim
