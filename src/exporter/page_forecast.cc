#include "exporter/page_forecast.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_format.h"

#include "base/counted.h"
#include "base/text.h"
#include "exporter/call_within.h"
#include "exporter/tick.h"
#include "fields/field_ids.h"
#include "health/lacked_metrics.h"
#include "sample/columns.h"

namespace podgpu {
namespace {

using std::chrono::milliseconds;

// A line of this field appears with the first XID of the device.

// An absent value that podgpu will have once it samples for some time.
bool WillCome(const Field& field, const Value& value) {
  if (value.present() || field.id == field_ids::kXid) {
    return false;
  }
  switch (value.absence()) {
    case Absence::kNotRead:
    case Absence::kNoData:
    case Absence::kBlank:
    case Absence::kStale:
    case Absence::kPaused:
      return true;
    default:
      return false;
  }
}

// Gives each value that will come a number of a usual length.
void CountAsPresent(Grid& grid) {
  for (size_t row = 0; row < grid.fields().size(); ++row) {
    const FieldRow field{static_cast<uint16_t>(row)};
    const ColumnRange columns = grid.ColumnsOf(field);
    for (size_t column = columns.first; column < columns.first + columns.count; ++column) {
      Value& cell = grid.at(field, EntityId{static_cast<uint16_t>(column)});
      if (!WillCome(*grid.fields()[row], cell)) {
        continue;
      }
      const FieldType type = grid.fields()[row]->type;
      if (type == FieldType::kDouble) {
        cell = Value::OfDouble(0.123457);
      } else if (type == FieldType::kInt64 || type == FieldType::kTimestamp) {
        cell = Value::OfInt64(1234);
      }
    }
  }
}

StatusOr<std::shared_ptr<Grid>> ReadOnce(const SourceOpener& open,
                                         const std::vector<const Field*>& fields,
                                         milliseconds period) {
  PODGPU_ASSIGN_OR_RETURN(const std::unique_ptr<Source> source, open());
  PODGPU_ASSIGN_OR_RETURN(Topology found, source->Discover(PartsFor(fields)));
  if (found.gpus.empty()) {
    source->Release();
    return absl::NotFoundError("this node has no GPU");
  }
  found.epoch = 1;
  source->SetProfiling(false);
  const StatusOr<WatchResult> watched = source->Watch(found, fields, period);
  auto grid = std::make_shared<Grid>(std::make_shared<const Topology>(std::move(found)), fields);
  const Status status = watched.ok() ? source->Read(*grid) : watched.status();
  source->Release();
  PODGPU_RETURN_IF_ERROR(status);
  return grid;
}

std::shared_ptr<Grid> AssumedGrid(const std::vector<const Field*>& fields) {
  auto topology = std::make_shared<Topology>();
  topology->epoch = 1;
  topology->driver_version = "580.95.05";
  for (uint32_t index = 0; index < kAssumedGpus; ++index) {
    Gpu gpu;
    gpu.gpu_id = index;
    gpu.minor_number = index;
    gpu.uuid = absl::StrFormat("GPU-00000000-0000-0000-0000-%012x", index);
    gpu.pci_bus_id = absl::StrFormat("00000000:%02X:00.0", 0x1BU + 0x10U * index);
    gpu.model = "NVIDIA H100 80GB HBM3";
    topology->gpus.push_back(std::move(gpu));
  }
  NumberEntities(*topology);
  auto grid = std::make_shared<Grid>(std::move(topology), fields);
  grid->Clear(Absence::kNotRead);
  return grid;
}

// One pod on each assumed GPU.
std::shared_ptr<const PodAllocations> AssumedPods(const Topology& topology) {
  PodAllocations pods;
  pods.api_version = "v1";
  for (const Gpu& gpu : topology.gpus) {
    pods.allocations.push_back(
        {"default", absl::StrFormat("pod-%d", gpu.gpu_id), "main", "nvidia.com/gpu", gpu.uuid});
    ++pods.pod_count;
  }
  return std::make_shared<const PodAllocations>(std::move(pods));
}

std::shared_ptr<const PodFacts> FactsOf(StatusOr<std::shared_ptr<const PodAllocations>> pods,
                                        Instant now) {
  auto facts = std::make_shared<PodFacts>();
  facts->asked_at = now;
  facts->good_at = now;
  facts->state = PartState::kWaiting;
  if (pods.ok()) {
    facts->value = *std::move(pods);
    facts->state = PartState::kOk;
  } else {
    facts->detail = std::string(pods.status().message());
  }
  return facts;
}

// The page of one tick over these facts.
std::shared_ptr<const Snapshot> PageOf(TickOptions options, Clock& clock,
                                       const std::shared_ptr<Grid>& grid,
                                       const std::shared_ptr<const PodFacts>& pods) {
  Wakeup wakeup;
  const CallGuard guard(clock, std::chrono::seconds(1));
  const std::atomic<int> written_off = 0;
  HttpCounters clients;
  Published<Grid> grids;
  Published<SourceStatus> source;
  Published<PodFacts> kubelet;
  grid->read_at = clock.Now();
  grid->read_at_wall = clock.WallNow();
  grids.Set(grid);
  source.Set(std::make_shared<const SourceStatus>(
      SourceStatus{PartState::kOk, "", 1, 0, grid->topology().gpus.size()}));
  kubelet.Set(pods);
  Tick tick(std::move(options), {grids, source, kubelet, guard, written_off, clients}, clock,
            wakeup);
  tick.Once();
  return tick.snapshots().Get();
}

// Returns the value of the label `gpu` of a line, or "".
std::string GpuOf(std::string_view line) {
  for (const std::string_view mark : {"{gpu=\"", ",gpu=\""}) {
    const size_t at = line.find(mark);
    if (at != std::string_view::npos) {
      const std::string_view rest = line.substr(at + mark.size());
      return std::string(rest.substr(0, rest.find('"')));
    }
  }
  return "";
}

void CountOneMore(std::vector<SeriesCount>& counts, std::string_view name) {
  auto found = std::ranges::find(counts, name, &SeriesCount::name);
  if (found == counts.end()) {
    found = counts.insert(found, {std::string(name), 0});
  }
  ++found->series;
}

std::vector<std::string> FamiliesOnlyIn(const PageForecast& full, const PageForecast& trimmed) {
  std::set<std::string> kept;
  for (const auto& [family, series] : trimmed.by_family) {
    kept.insert(family);
  }
  std::vector<std::string> missing;
  for (const auto& [family, series] : full.by_family) {
    if (!kept.contains(family)) {
      missing.push_back(family);
    }
  }
  return missing;
}

}  // namespace

void CountSeries(std::string_view page, PageForecast& forecast) {
  for (const std::string_view line : Split(page, '\n')) {
    if (line.empty() || line.front() == '#') {
      continue;
    }
    const std::string_view name = line.substr(0, line.find_first_of("{ "));
    CountOneMore(forecast.by_family, name);
    CountOneMore(forecast.by_gpu, GpuOf(line));
    ++forecast.series;
  }
}

PageForecast ForecastPage(const ExporterOptions& options, const ExporterSeams& seams,
                          milliseconds patience) {
  PageForecast forecast;
  const std::vector<const Field*> fields = FieldsToRead(options.counters, options.views);
  std::optional<StatusOr<std::shared_ptr<Grid>>> reading =
      CallWithin<StatusOr<std::shared_ptr<Grid>>>(
          [open = seams.open_source, fields, period = options.collect_interval] {
            return ReadOnce(open, fields, period);
          },
          patience, seams.clock, seams.written_off);
  std::shared_ptr<Grid> grid;
  StatusOr<std::shared_ptr<const PodAllocations>> pods = absl::UnknownError("");
  if (reading && reading->ok()) {
    grid = **reading;
    const Topology& topology = grid->topology();
    forecast.devices = absl::StrFormat("%s, %s", Counted(topology.gpus.size(), "GPU"),
                                       Counted(topology.instances.size(), "MIG instance"));
    forecast.warnings = LackedWarnings(grid->findings.lacked.get(), options.counters);
    pods = seams.kubelet.List();
    forecast.why_no_pods = std::string(pods.status().message());
  } else {
    forecast.why_assumed = reading
                               ? std::string(reading->status().message())
                               : absl::StrFormat("the driver has not answered for %g s",
                                                 std::chrono::duration<double>(patience).count());
    grid = AssumedGrid(fields);
    forecast.devices = Counted(kAssumedGpus, "GPU") + " without MIG, one pod on each";
    pods = AssumedPods(grid->topology());
  }
  CountAsPresent(*grid);

  TickOptions tick = TickOptionsOf(options);
  tick.series_budget = 0;
  const std::shared_ptr<const PodFacts> facts = FactsOf(std::move(pods), seams.clock.Now());
  const std::shared_ptr<const Snapshot> page = PageOf(tick, seams.clock, grid, facts);
  CountSeries(page->text(), forecast);
  forecast.bytes = page->text().size();
  forecast.compressed_bytes = page->text_gzip().size();
  forecast.leaves_out_containers = !options.container_socket.empty();
  forecast.budget = options.series_budget;
  if (forecast.budget > 0) {
    tick.series_budget = forecast.budget;
    PageForecast trimmed;
    CountSeries(PageOf(tick, seams.clock, grid, facts)->text(), trimmed);
    forecast.left_out = FamiliesOnlyIn(forecast, trimmed);
  }
  return forecast;
}

std::string ForecastText(const PageForecast& forecast) {
  std::string text;
  if (!forecast.why_assumed.empty()) {
    absl::StrAppendFormat(&text, "note: the page is that of an assumed node, because %s\n",
                          forecast.why_assumed);
  }
  if (!forecast.why_no_pods.empty()) {
    absl::StrAppendFormat(&text, "note: pods are not counted: %s\n", forecast.why_no_pods);
  }
  if (forecast.leaves_out_containers) {
    text +=
        "note: containers are not counted: each one after the first repeats the rows of its "
        "devices\n";
  }
  for (const std::string& warning : forecast.warnings) {
    absl::StrAppendFormat(&text, "warning: %s\n", warning);
  }
  if (!forecast.left_out.empty()) {
    absl::StrAppendFormat(&text,
                          "warning: the page is above --series-budget=%d; podgpu would leave out "
                          "%d %s: %s. Raise the budget, or remove lines from the list\n",
                          forecast.budget, forecast.left_out.size(),
                          forecast.left_out.size() == 1 ? "family" : "families",
                          Listed(forecast.left_out));
  }
  absl::StrAppendFormat(
      &text, "/metrics, %s: at most %d series%s, %d bytes, %d with gzip\n\n%8s  gpu\n",
      forecast.devices, forecast.series,
      forecast.budget == 0 ? ", no budget" : absl::StrFormat(" of %d", forecast.budget),
      forecast.bytes, forecast.compressed_bytes, "series");
  for (const auto& [gpu, series] : forecast.by_gpu) {
    absl::StrAppendFormat(&text, "%8d  %s\n", series, gpu.empty() ? "(the node)" : gpu);
  }
  absl::StrAppendFormat(&text, "\n%8s  family\n", "series");
  for (const auto& [family, series] : forecast.by_family) {
    absl::StrAppendFormat(&text, "%8d  %s\n", series, family);
  }
  return text;
}

}  // namespace podgpu
