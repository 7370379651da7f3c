#include "ui/status_text.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/strings/str_format.h"

#include "base/text.h"
#include "ui/status_words.h"

namespace podgpu {
namespace {

constexpr size_t kColumns = 100;
constexpr size_t kDetailAt = 29;  // Where the sentence of a part begins.
constexpr size_t kOwnerAt = 60;   // Where the last column of a row begins.
constexpr size_t kOwnLineAt = 6;  // Where it begins if it has a line of its own.
constexpr size_t kModelAt = 66;

// Appends `text` in lines; those after the first begin at column `hanging`.
void AppendLines(std::string_view text, size_t hanging, std::string& page) {
  const std::vector<std::string> lines = Wrapped(text, kColumns, hanging);
  for (const std::string& line : lines) {
    page += (&line == lines.data() ? "" : std::string(hanging, ' ')) + line + "\n";
  }
}

// A row of the table of GPUs, or of processes.
struct TextRow {
  std::string gpu, state, sm, memory, power;
  std::string note;  // The temperature of a GPU, the type of a process.
  std::string energy;
  std::string owner;  // Any length.
};

// Returns a number without its unit, which the head of its column names: "67.2/80" for "67.2 of 80
// GiB".
std::string Bare(std::string words) {
  if (const size_t of = words.find(" of "); of != std::string::npos) {
    words.replace(of, 4, "/");
  }
  return words.substr(0, words.find(' '));
}

void AppendRow(const TextRow& row, std::string& page) {
  std::string line = absl::StrFormat("%-5s %-12s %4s %9s %9s %4s %9s", row.gpu, row.state, row.sm,
                                     row.memory, row.power, row.note, row.energy);
  size_t longest = 0;
  for (const std::string_view word : Split(row.owner, ' ')) {
    longest = std::max(longest, LetterCount(word));
  }
  const bool has_room = LetterCount(line) + 2 <= kOwnerAt && longest <= kColumns - kOwnerAt;
  if (has_room) {
    line.resize(line.size() + kOwnerAt - LetterCount(line), ' ');
    AppendLines(line + row.owner, kOwnerAt, page);
    return;
  }
  page += line + "\n";
  AppendLines(std::string(kOwnLineAt, ' ') + row.owner, kOwnLineAt, page);
}

std::string OwnersOf(const StatusGpu& gpu, int64_t now_ms) {
  std::string words = gpu.owners;
  if (gpu.since_ms) {
    absl::StrAppendFormat(&words, ", %s for %s", gpu.state, SpanWords(now_ms - *gpu.since_ms));
  }
  if (gpu.idle_since_ms) {
    words += ", " + IdleWords(gpu.idle_since_ms, gpu.idle_for_longer, now_ms);
  }
  for (const std::string& reason : gpu.throttle_reasons) {
    words += ", throttled by " + reason;
  }
  for (const StatusShare& share : gpu.shares) {
    if (share.use.is_apportioned) {
      return words + "; ~ " + MethodWords(share.use);
    }
  }
  return words;
}

TextRow TextRowOf(const StatusGpu& gpu, const StatusPageFacts& facts) {
  return {std::to_string(gpu.index),
          gpu.state,
          Bare(PercentWords(SmRatio(gpu, ShowsUtilization(*facts.status)))),
          Bare(MemoryWords(gpu.memory_used_bytes, gpu.memory_total_bytes)),
          Bare(PowerWords(gpu.power_watts, gpu.power_limit_watts)),
          Bare(TemperatureWords(gpu.temperature_celsius)),
          EnergyWords(gpu.energy_joules),
          OwnersOf(gpu, facts.now_ms)};
}

TextRow TextRowOf(const StatusInstance& instance, const StatusGpu& gpu, bool owners_known) {
  return {absl::StrFormat("%d:%d", gpu.index, instance.gpu_instance_id),
          instance.profile,
          Bare(PercentWords(instance.sm_ratio)),
          Bare(MemoryWords(instance.memory_used_bytes, instance.memory_total_bytes)),
          "",
          "",
          "",
          OwnerWords(instance, owners_known)};
}

TextRow TextRowOf(const StatusUse& use, std::string owner) {
  return {"",
          "",
          Bare(PercentWords(use.sm_ratio)),
          Bare(MemoryWords(use.memory_bytes, std::nullopt)),
          Bare(PowerWords(use)),
          "",
          EnergyWords(use),
          std::move(owner)};
}

void ListBelow(const StatusGpu& gpu, const StatusPageFacts& facts, std::string& page) {
  for (const StatusInstance& instance : gpu.instances) {
    AppendRow(TextRowOf(instance, gpu, facts.status->owners_known), page);
  }
  for (const StatusShare& share : gpu.shares) {
    const std::string idle = IdleWords(share.idle_since_ms, false, facts.now_ms);
    AppendRow(TextRowOf(share.use, ShareWords(share) + (idle.empty() ? "" : ", ") + idle), page);
  }
  if (gpu.instances.empty() && gpu.shares.empty() && gpu.holders.size() + gpu.hidden_holders > 1) {
    AppendLines(std::string(kOwnLineAt, ' ') + HoldersWords(gpu.holders, gpu.hidden_holders),
                kOwnLineAt, page);
  }
}

void ListGpus(const StatusPageFacts& facts, std::string& page) {
  const NodeStatus& status = *facts.status;
  AppendRow({"GPU", "STATE", ShowsUtilization(status) ? "UTL%" : "SM%", "MEM, GiB", "POWER, W",
             "TEMP", "ENERGY", "OWNER"},
            page);
  for (const StatusGpu& gpu : status.gpus) {
    AppendRow(TextRowOf(gpu, facts), page);
    ListBelow(gpu, facts, page);
  }
  page += "\n";
}

void ListProcesses(const StatusPageFacts& facts, std::string& page) {
  if (facts.status->processes.empty()) {
    return;
  }
  AppendRow({"GPU", "PROCESS", "SM%", "MEM, GiB", "POWER, W", "TYPE", "ENERGY", "COMMAND, OWNER"},
            page);
  for (const StatusProcess& process : ProcessesByGpu(*facts.status)) {
    TextRow row = TextRowOf(process.use, ProcessWords(process));
    row.gpu = std::to_string(process.gpu);
    row.state = std::to_string(process.pid);
    row.note = process.type;
    AppendRow(row, page);
  }
  page += "\n";
}

void ListIdentities(const NodeStatus& status, std::string& page) {
  absl::StrAppendFormat(&page, "%-5s %-16s  %-40s  %s\n", "GPU", "PCI ADDRESS", "UUID", "MODEL");
  for (const StatusGpu& gpu : status.gpus) {
    AppendLines(
        absl::StrFormat("%-5d %-16s  %-40s  %s", gpu.index, gpu.pci_bus_id, gpu.uuid, gpu.model),
        kModelAt, page);
  }
  page += "\n";
}

void ListFaults(const NodeStatus& status, std::string& page) {
  for (const StatusFault& fault : status.faults) {
    AppendLines(absl::StrFormat("! %s: %s%s%s", fault.state, SentenceWords(fault.text),
                                fault.remedy.empty() ? "" : " ", SentenceWords(fault.remedy)),
                2, page);
  }
  page += status.faults.empty() ? "" : "\n";
}

void ListAll(const StatusPageFacts& facts, std::string& page) {
  const NodeStatus& status = *facts.status;
  ListFaults(status, page);
  if (!status.gpus.empty()) {
    ListGpus(facts, page);
    ListProcesses(facts, page);
    ListIdentities(status, page);
  }
  for (const StatusMissing& missing : status.missing) {
    AppendLines(
        absl::StrFormat("not shown: %s%s%s: %s", missing.what, missing.gpus.empty() ? "" : ", GPU ",
                        missing.gpus, ReasonWords(status, missing)),
        2, page);
  }
  page += status.missing.empty() ? "" : "\n";
  for (const StatusPart& part : status.parts) {
    AppendLines(
        absl::StrFormat("%-13s  %-12s  %s", part.part, part.state, DetailWords(status, part)),
        kDetailAt, page);
  }
  page += "\n";
  AppendLines(absl::StrFormat("This exporter: %s; %s", SelfWords(status.self),
                              AgeWords(status, facts.now_ms)),
              2, page);
}

}  // namespace

std::string StatusText(const StatusPageFacts& facts) {
  std::string page;
  AppendLines(absl::StrFormat("podgpu %s on %s: %s", facts.version, facts.hostname,
                              VerdictWords(facts.status)),
              2, page);
  page += "\n";
  if (facts.status != nullptr) {
    ListAll(facts, page);
  }
  std::string paths = "Paths:";
  for (const std::string_view path : facts.paths) {
    absl::StrAppendFormat(&paths, " %s", path);
  }
  AppendLines(paths, 2, page);
  return page;
}

}  // namespace podgpu
