// The words and numbers of the page `/`: how a NodeStatus is written for people.
//
// The HTML form and the text form use the same functions.  assets/node_words.js formats the same
// numbers in the browser, and a test compares the two.  A number that is absent is "-".  Units are
// those of docs/node-page.md: percent, GiB, W, Wh and degrees Celsius.  Pure functions; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/node_status.h"

namespace podgpu {

// The most rows below the GPUs that are shown open.  With more rows, the rows of each GPU are
// closed until a reader opens them.
inline constexpr size_t kMostOpenRows = 16;

std::string PercentWords(const std::optional<double>& ratio);
// Returns for example "67.2 of 80 GiB" or "12.0 GiB".
std::string MemoryWords(const std::optional<uint64_t>& used, const std::optional<uint64_t>& total);
// Returns for example "652 of 700 W" or "42 W".
std::string PowerWords(const std::optional<double>& watts, const std::optional<double>& limit);
// Returns for example "~151 W" if the number is apportioned.
std::string PowerWords(const StatusUse& use);
// Returns for example "14.2 kWh" or "0.4 Wh".
std::string EnergyWords(const std::optional<double>& joules);
// Returns for example "~0.4 Wh" if the number is apportioned.
std::string EnergyWords(const StatusUse& use);
// Returns for example "57 °C".
std::string TemperatureWords(const std::optional<double>& celsius);
// Returns the method by which the energy of a holder was found: "measured", "apportioned by SM
// time".
std::string MethodWords(const StatusUse& use);
// Returns for example "2h14m" or "41s".
std::string SpanWords(int64_t milliseconds);
// "idle 2h14m", ">14m" if it began before this exporter; empty if it is not idle.
std::string IdleWords(const std::optional<int64_t>& since_ms, bool is_longer, int64_t now_ms);
// Returns for example "sample 0.4 s old" or "no sample yet".
std::string AgeWords(const NodeStatus& status, int64_t now_ms);
// Returns for example "research/llama-train-0 (trainer)".
std::string HolderWords(const StatusHolder& holder);
// All names and "2 in namespaces that are not shown"; empty without a holder.
std::string HoldersWords(const std::vector<StatusHolder>& holders, uint32_t hidden);
// The name of a share: its holder, or "unattributed".
std::string ShareWords(const StatusShare& share);
// The holders of an instance; "free", or "not known" while the owners are not known.
std::string OwnerWords(const StatusInstance& instance, bool owners_known);
// Returns for example "MIG 7, 1g.10gb".
std::string InstanceWords(const StatusInstance& instance);
// Returns for example "14.2 MiB, 0.03 % of a core, 3,214 series, slowest scrape 0.6 ms".
std::string SelfWords(const StatusSelf& self);

// The command of a process, and its owner: "python3, research/llama-train-0 (trainer)".
std::string ProcessWords(const StatusProcess& process);
// Returns the processes by GPU and pid, an order in which rows keep their places.
std::vector<StatusProcess> ProcessesByGpu(const NodeStatus& status);

// What a part says of itself, and why values are missing; or a reference to the fault that says the
// same, so that one cause has one place.
std::string DetailWords(const NodeStatus& status, const StatusPart& part);
std::string ReasonWords(const NodeStatus& status, const StatusMissing& missing);
// The verdict, without the reason if a fault states it; "starting: ..." for null, before the first
// tick.
std::string VerdictWords(const NodeStatus* status);

// Returns for example "Reboot the node." for "reboot the node".
std::string SentenceWords(std::string_view text);

// The verdict of the page in words, most severe first: "1 lost, 1 degraded, 6 ok; kubelet
// degraded".  Without GPUs, the first word of /readyz and the parts that are not ok.
std::string CountWords(const NodeStatus& status);

// Returns whether the column SM shows the time with any kernel, because no GPU tells its SM
// activity.
bool ShowsUtilization(const NodeStatus& status);
// Returns the number of the column SM.
std::optional<double> SmRatio(const StatusGpu& gpu, bool shows_utilization);

// Returns whether the rows below the GPUs are folded, except those of GPUs with a problem.
bool IsFolded(const NodeStatus& status);

// The description of an SVG path in a box of 300 x 100: the last five minutes, one point per
// sample, the newest at the right; a gap where there is no sample, and a bar where the samples end.
// `step_ms`: the time between two samples.
std::string PlotPath(const std::vector<int8_t>& samples, int64_t step_ms);
// Returns the same for people who do not see it: "SM activity, 5 minutes: 2 to 98, now 96 percent".
std::string PlotWords(std::string_view what, const std::vector<int8_t>& samples, int64_t step_ms);

}  // namespace podgpu
