// Measures the cost of an epoch and of a tick at four sizes: building a new plan, rendering the
// page in both formats and compressing it, compared with a memcpy of the same bytes.  The counters
// show the cost per series.
#include <cstring>
#include <set>

#include <benchmark/benchmark.h>

#include "exposition/gzip.h"
#include "exposition/text.h"
#include "tests/node_fixture.h"
#include "view/view.h"

namespace podgpu {
namespace {

constexpr size_t kFieldCount = 60;

// The default counters, filled up with other numeric GPU fields to 60.
std::vector<Counter> SixtyCounters() {
  std::vector<Counter> counters = CountersOf(DefaultCountersCsv());
  std::erase_if(counters, [](const Counter& counter) { return counter.is_label(); });
  std::set<uint16_t> ids;
  for (const Counter& counter : counters) {
    ids.insert(counter.field->id);
  }
  for (const Field& field : Catalogue()) {
    const bool numeric = field.type == FieldType::kInt64 || field.type == FieldType::kDouble;
    if (counters.size() < kFieldCount && numeric && field.level == FieldLevel::kGpu &&
        ids.insert(field.id).second) {
      counters.push_back({.line = 0,
                          .name = std::string(field.name),
                          .field = &field,
                          .type = "gauge",
                          .help = "A field of this benchmark."});
    }
  }
  const std::vector<Counter> labels = CountersOf("DCGM_FI_DRIVER_VERSION,label,Driver version");
  counters.insert(counters.end(), labels.begin(), labels.end());
  return counters;
}

// A pod on each device.  On a large node eight pods share every second device: 504 pods on 112
// devices.
Owners PodsOf(const Topology& topology, bool large) {
  Owners owners = OwnersFor(topology, 1);
  if (large) {
    const Owners shared = OwnersFor(topology, 8);
    for (size_t i = 0; i < owners.by_entity.size(); i += 2) {
      owners.by_entity[i] = shared.by_entity[i];
    }
  }
  return owners;
}

struct Size {
  size_t gpus;
  size_t instances_per_gpu;
};
// One GPU, a full node, the largest node, and a hundred thousand series.
constexpr Size kSizes[] = {{1, 0}, {8, 0}, {16, 7}, {187, 7}};
constexpr int kLastSize = 3;

struct Node {
  explicit Node(int64_t size)
      : counters(SixtyCounters()),
        grid(FilledGrid(MakeTopology(kSizes[size].gpus, kSizes[size].instances_per_gpu),
                        FieldsOf(counters, NativeFieldIds()))),
        owners(PodsOf(grid.topology(), kSizes[size].instances_per_gpu > 0)) {
    options.hostname = "gpu-node-17.example.com";
    options.kubernetes = true;
  }

  SeriesPlan Plan() const {
    PlanBuilder builder;
    const ViewInput input{grid, owners, counters, options};
    AddDcgmView(input, builder);
    AddCoreView(input, builder);
    AddMeasures(input, builder);
    return std::move(builder).Build();
  }

  std::vector<Counter> counters;
  Grid grid;
  Owners owners;
  ViewOptions options;
};

void Report(benchmark::State& state, size_t series, size_t bytes) {
  state.counters["series"] = static_cast<double>(series);
  state.counters["bytes"] = static_cast<double>(bytes);
  state.counters["per_series"] =
      benchmark::Counter(static_cast<double>(series) * static_cast<double>(state.iterations()),
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void PlanRebuild(benchmark::State& state) {
  const Node node(state.range(0));
  size_t series = 0;
  for (auto _ : state) {
    const SeriesPlan plan = node.Plan();
    series = plan.series().size();
    benchmark::DoNotOptimize(series);
  }
  Report(state, series, 0);
}

template <typename Render>
void RenderPage(benchmark::State& state, Render render) {
  const Node node(state.range(0));
  const SeriesPlan plan = node.Plan();
  std::string page;
  size_t series = render(plan, &node.grid, std::span<const Value>(), page);  // Makes the room.
  for (auto _ : state) {
    page.clear();
    series = render(plan, &node.grid, std::span<const Value>(), page);
    benchmark::DoNotOptimize(page.data());
  }
  Report(state, series, page.size());
}

void Text(benchmark::State& state) { RenderPage(state, RenderText); }
void OpenMetrics(benchmark::State& state) { RenderPage(state, RenderOpenMetrics); }

struct TextPage {
  explicit TextPage(int64_t size) {
    const Node node(size);
    series = RenderText(node.Plan(), &node.grid, {}, bytes);
  }
  std::string bytes;
  size_t series = 0;
};

void GzipText(benchmark::State& state) {
  const TextPage page(state.range(0));
  size_t compressed = 0;
  for (auto _ : state) {
    compressed = Gzip(page.bytes).size();
    benchmark::DoNotOptimize(compressed);
  }
  Report(state, page.series, page.bytes.size());
  state.counters["ratio"] =
      static_cast<double>(page.bytes.size()) / static_cast<double>(compressed);
}

void Memcpy(benchmark::State& state) {
  const TextPage page(state.range(0));
  std::string copy(page.bytes.size(), '\0');
  for (auto _ : state) {
    std::memcpy(copy.data(), page.bytes.data(), page.bytes.size());
    benchmark::DoNotOptimize(copy.data());
  }
  Report(state, page.series, page.bytes.size());
}

BENCHMARK(PlanRebuild)->Name("PlanRebuild")->DenseRange(0, kLastSize);
BENCHMARK(Text)->Name("RenderText")->DenseRange(0, kLastSize);
BENCHMARK(OpenMetrics)->Name("RenderOpenMetrics")->DenseRange(0, kLastSize);
BENCHMARK(GzipText)->Name("RenderedGzip")->DenseRange(0, kLastSize);
BENCHMARK(Memcpy)->Name("RenderedMemcpy")->DenseRange(0, kLastSize);

}  // namespace
}  // namespace podgpu
