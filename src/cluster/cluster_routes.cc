#include "cluster/cluster_routes.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "absl/strings/str_format.h"

#include "cluster/fleet_documents.h"
#include "cluster/fleet_page.h"
#include "cluster/history_query.h"
#include "cluster/in_use_query.h"
#include "cluster/metrics_feed.h"
#include "ui/error_json.h"
#include "ui/responses.h"

namespace podgpu {
namespace {

// The tick thread counts as hung if no tick has ended for this long.
constexpr std::chrono::seconds kTickDeadline{30};

struct ClusterContext {
  const ClusterTick& tick;
  const Clock& clock;
  FleetDocuments& fleet;
  const ClusterApiSources& sources;
  const PageAssets& page;
};

HttpResponse ServeMap(const ClusterContext& context, const HttpRequest& request) {
  return PageResponse(context.tick.metrics().Get(), request);
}

HttpResponse ServeNodeFamilies(const ClusterContext& context, const HttpRequest& request) {
  return PageResponse(context.tick.node_families().Get(), request);
}

HttpResponse ServeAlive(const ClusterContext& context, const HttpRequest& /*request*/) {
  const Duration since = context.clock.Now() - context.tick.last_ended();
  const bool alive = context.tick.metrics().Get() != nullptr && since <= kTickDeadline;
  return alive ? TextResponse(200, "ok\n")
               : TextResponse(503, "no page has been made for too long\n");
}

HttpResponse ServeReady(const ClusterContext& context, const HttpRequest& /*request*/) {
  const std::shared_ptr<const ClusterCondition> condition = context.tick.condition().Get();
  if (condition == nullptr) {
    return TextResponse(503, "not ready: the first page is not ready yet\n");
  }
  return TextResponse(condition->ready ? 200 : 503, condition->verdict + "\n");
}

HttpResponse ServeFleet(const ClusterContext& context, const HttpRequest& request) {
  const StatusOr<FleetQuery> query = ParseFleetQuery(request.query);
  if (!query.ok()) {
    return JsonResponse(400, ErrorJson(std::string(query.status().message())));
  }
  const std::shared_ptr<const ClusterFacts> facts = context.tick.facts().Get();
  return facts == nullptr ? JsonResponse(503, ErrorJson("the first page is not ready yet"))
                          : DocumentResponse(context.fleet.Of(facts, *query), request);
}

HttpResponse AbsentHistory(std::string reason) {
  History none;
  none.absent = std::move(reason);
  return JsonResponse(200, WriteHistory(none));
}

// The PromQL is made once per request for Prometheus: a handler that waits is called often.
HttpResponse ServeHistory(const ClusterContext& context, const HttpRequest& request) {
  HistoryReader* const reader = context.sources.history;
  const std::shared_ptr<const ClusterFacts> facts = context.tick.facts().Get();
  const StatusOr<HistoryQuery> query = ParseHistoryQuery(request.query);
  if (!query.ok()) {
    return JsonResponse(400, ErrorJson(std::string(query.status().message())));
  }
  if (reader == nullptr || facts == nullptr) {
    return JsonResponse(404, ErrorJson("podgpu keeps no history; give --in-use-prometheus to read "
                                       "that of a Prometheus"));
  }
  const std::string key = query->key();
  std::shared_ptr<const History> history = reader->Known(key);
  if (history == nullptr && !reader->IsWanted(key)) {
    const StatusOr<std::string> promql = HistoryPromql(*query, *facts, context.sources.matchers);
    if (absl::IsNotFound(promql.status())) {
      return JsonResponse(404, ErrorJson(std::string(promql.status().message())));
    }
    if (!promql.ok()) {
      return AbsentHistory(std::string(promql.status().message()));
    }
    history = reader->Of(key, *promql);
  }
  HttpResponse response = history == nullptr
                              ? AbsentHistory("Prometheus has not answered yet; ask again")
                              : JsonResponse(200, WriteHistory(*history));
  response.ask_again = history == nullptr;
  return response;
}

HttpResponse ServeInUse(const ClusterContext& context, const HttpRequest& request) {
  WindowTables* const windows = context.sources.windows;
  const std::shared_ptr<const ClusterFacts> facts = context.tick.facts().Get();
  if (windows == nullptr) {
    return JsonResponse(404, ErrorJson("podgpu reads no nodes itself; add --nodes"));
  }
  if (facts == nullptr) {
    return JsonResponse(503, ErrorJson("the first page is not ready yet"));
  }
  const StatusOr<InUseQuery> query = ParseInUseQuery(request.query, windows->length());
  if (!query.ok()) {
    return JsonResponse(400, ErrorJson(std::string(query.status().message())));
  }
  const WallTime now = context.clock.WallNow();
  const auto table = windows->Of(
      query->window, [&facts] { return MetricsFleetOf(*facts); }, now);
  if (!table.ok()) {
    return JsonResponse(429, ErrorJson(std::string(table.status().message())));
  }
  const StatusOr<InUseMean> mean = AskInUse(**table, query->question);
  return mean.ok() ? JsonResponse(200, WriteInUse(*query, *mean, now))
                   : JsonResponse(404, ErrorJson(std::string(mean.status().message())));
}

HttpResponse ServeClusterIndex(const ClusterContext& context, const HttpRequest& request);

struct ClusterRoute {
  std::string_view path;
  HttpResponse (*serve)(const ClusterContext& context, const HttpRequest& request);
};

constexpr ClusterRoute kClusterRoutes[] = {
    {"/", ServeClusterIndex},
    {"/metrics", ServeMap},
    {"/metrics/nodes", ServeNodeFamilies},
    {"/healthz", ServeAlive},
    {"/readyz", ServeReady},
    {"/api/v1/fleet", ServeFleet},
    {"/api/v1/history", ServeHistory},
    {"/api/v1/in-use", ServeInUse},
};

// Serves the fleet page to a browser, and the verdict and the paths as text to other clients.
HttpResponse ServeClusterIndex(const ClusterContext& context, const HttpRequest& request) {
  if (request.accept.find("text/html") != std::string_view::npos) {
    HttpResponse page = context.page.Serve("/", request);
    AddHeader(page, "Vary", "Accept");
    return page;
  }
  const std::shared_ptr<const ClusterCondition> condition = context.tick.condition().Get();
  std::string text = absl::StrFormat("podgpu cluster: %s\n\n",
                                     condition == nullptr ? "starting" : condition->verdict);
  for (const ClusterRoute& route : kClusterRoutes) {
    absl::StrAppendFormat(&text, "%s\n", route.path);
  }
  HttpResponse response = TextResponse(200, std::move(text));
  AddHeader(response, "Vary", "Accept");
  return response;
}

}  // namespace

HttpHandler MakeInUseRoutes(const ClusterTick& tick) {
  return [&tick](const HttpRequest& request) {
    HttpResponse response = PageResponse(tick.in_use().Get(), request);
    AddHeader(response, "X-Content-Type-Options", "nosniff");
    return response;
  };
}

HttpHandler MakeClusterRoutes(const ClusterTick& tick, const Clock& clock,
                              ClusterApiSources sources) {
  auto fleet = std::make_shared<FleetDocuments>(sources.links);
  return [&tick, &clock, sources = std::move(sources), fleet = std::move(fleet),
          page = std::make_shared<PageAssets>(MakeFleetPage())](const HttpRequest& request) {
    const ClusterContext context{tick, clock, *fleet, sources, *page};
    const auto* const route = std::ranges::find(kClusterRoutes, request.path, &ClusterRoute::path);
    HttpResponse response = route != std::end(kClusterRoutes) ? route->serve(context, request)
                            : page->Has(request.path)         ? page->Serve(request.path, request)
                                                              : ServeElsewhere(request);
    AddHeader(response, "X-Content-Type-Options", "nosniff");
    return response;
  };
}

}  // namespace podgpu
