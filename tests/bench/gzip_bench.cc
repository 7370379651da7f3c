// The page compressed as the exporter does it, beside zlib at level 6, which is like Go's gzip.
#include <string>

#include <benchmark/benchmark.h>
#include <zlib.h>

#include "base/status.h"
#include "exposition/gzip.h"
#include "exposition/text.h"
#include "tests/bench/bench_node.h"
#include "tests/node_fixture.h"
#include "view/view.h"

namespace podgpu {
namespace {

// The dcgm view of 480, 6,720 and 100,000 series, a pod on each device.
constexpr NodeSize kSizes[] = {{8, 0}, {16, 7}, {238, 7}};
constexpr int kLastSize = 2;

std::string PageOf(const NodeSize& size) {
  const std::vector<Counter> counters = CountersOf(SixtyCounters());
  const Grid grid = FilledGrid(MakeTopology(size.gpus, size.instances_per_gpu), FieldsOf(counters));
  const Owners owners = OwnersFor(grid.topology(), 1);
  ViewOptions options;
  options.hostname = "gpu-node-0";
  options.kubernetes = true;
  PlanBuilder plan;
  AddDcgmView({grid, owners, counters, options}, plan);
  std::string page;
  RenderText(std::move(plan).Build(), &grid, {}, page);
  return page;
}

template <typename Compress>
void CompressPage(benchmark::State& state, Compress compress) {
  const std::string page = PageOf(kSizes[state.range(0)]);
  size_t bytes = 0;
  for ([[maybe_unused]] auto _ : state) {
    bytes = compress(page);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<int64_t>(page.size()));
  state.counters["bytes"] = static_cast<double>(page.size());
  state.counters["ratio"] = static_cast<double>(page.size()) / static_cast<double>(bytes);
}

size_t OurGzip(const std::string& page) { return Gzip(page).size(); }

size_t Zlib6(const std::string& page) {
  z_stream stream{};
  constexpr int kGzipWindow = 15 + 16;
  PODGPU_CHECK(deflateInit2(&stream, 6, Z_DEFLATED, kGzipWindow, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string output(deflateBound(&stream, page.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(page.data()));
  stream.avail_in = static_cast<uInt>(page.size());
  stream.next_out = reinterpret_cast<Bytef*>(output.data());
  stream.avail_out = static_cast<uInt>(output.size());
  PODGPU_CHECK(deflate(&stream, Z_FINISH) == Z_STREAM_END);
  const size_t bytes = stream.total_out;
  deflateEnd(&stream);
  return bytes;
}

void Ours(benchmark::State& state) { CompressPage(state, OurGzip); }
void Zlib(benchmark::State& state) { CompressPage(state, Zlib6); }
BENCHMARK(Ours)->Name("GzipAsServed")->DenseRange(0, kLastSize)->Unit(benchmark::kMicrosecond);
BENCHMARK(Zlib)->Name("GzipZlib6")->DenseRange(0, kLastSize)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace podgpu
