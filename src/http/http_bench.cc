// The HTTP round trip for a client on the same machine: one keep-alive connection over loopback,
// precomputed body. Sizes: a page of one GPU, of a full node, of the largest node, and of a hundred
// thousand series.
#include <memory>
#include <string>

#include <benchmark/benchmark.h>

#include "http/server.h"
#include "http/testing/loopback_client.h"

namespace podgpu {
namespace {

void RoundTrip(benchmark::State& state) {
  const HttpResponse page =
      TextResponse(200, std::string(static_cast<size_t>(state.range(0)), 'x'));
  HttpServerOptions options;
  options.address = "127.0.0.1:0";
  const StatusOr<std::unique_ptr<HttpServer>> server =
      HttpServer::Start(options, [&](const HttpRequest&) { return page; });
  PODGPU_CHECK(server.ok());
  LoopbackClient client((*server)->port());
  for ([[maybe_unused]] auto _ : state) {
    PODGPU_CHECK(client.Fetch("/metrics").body.size() == page.body.size());
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(RoundTrip)->Arg(6'000)->Arg(175'000)->Arg(2'300'000)->Arg(29'000'000)->UseRealTime();

// One connection per request, like a scraper without keep-alive.
void ConnectAndFetch(benchmark::State& state) {
  HttpServerOptions options;
  options.address = "127.0.0.1:0";
  const StatusOr<std::unique_ptr<HttpServer>> server =
      HttpServer::Start(options, [](const HttpRequest&) { return TextResponse(200, "OK"); });
  PODGPU_CHECK(server.ok());
  for ([[maybe_unused]] auto _ : state) {
    PODGPU_CHECK(LoopbackClient((*server)->port()).Fetch("/health").status == 200);
  }
}
BENCHMARK(ConnectAndFetch)->UseRealTime();

}  // namespace
}  // namespace podgpu
