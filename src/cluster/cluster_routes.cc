#include "cluster/cluster_routes.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "absl/strings/str_format.h"

#include "cluster/fleet_json.h"
#include "cluster/fleet_page.h"
#include "ui/condition_json.h"
#include "ui/responses.h"

namespace podgpu {
namespace {

// The tick thread counts as hung if no tick has ended for this long.
constexpr std::chrono::seconds kTickDeadline{30};

struct ClusterContext {
  const ClusterTick& tick;
  const Clock& clock;
  FleetDocuments& fleet;
  FleetPage& page;
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
  const StatusOr<std::string_view> pod_namespace = ParseFleetQuery(request.query);
  if (!pod_namespace.ok()) {
    return JsonResponse(400, ErrorJson(std::string(pod_namespace.status().message())));
  }
  const std::shared_ptr<const ClusterFacts> facts = context.tick.facts().Get();
  return facts == nullptr ? JsonResponse(503, ErrorJson("the first page is not ready yet"))
                          : DocumentResponse(context.fleet.Of(facts, *pod_namespace), request);
}

HttpResponse ServeClusterIndex(const ClusterContext& context, const HttpRequest& request);

struct ClusterRoute {
  std::string_view path;
  HttpResponse (*serve)(const ClusterContext& context, const HttpRequest& request);
};

constexpr ClusterRoute kClusterRoutes[] = {
    {"/", ServeClusterIndex}, {"/metrics", ServeMap},  {"/metrics/nodes", ServeNodeFamilies},
    {"/healthz", ServeAlive}, {"/readyz", ServeReady}, {"/api/v1/fleet", ServeFleet},
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

HttpHandler MakeClusterRoutes(const ClusterTick& tick, const Clock& clock) {
  return [&tick, &clock, fleet = std::make_shared<FleetDocuments>(),
          page = std::make_shared<FleetPage>()](const HttpRequest& request) {
    const ClusterContext context{tick, clock, *fleet, *page};
    const auto* const route = std::ranges::find(kClusterRoutes, request.path, &ClusterRoute::path);
    HttpResponse response = route != std::end(kClusterRoutes) ? route->serve(context, request)
                            : page->Has(request.path)         ? page->Serve(request.path, request)
                                                              : ServeElsewhere(request);
    AddHeader(response, "X-Content-Type-Options", "nosniff");
    return response;
  };
}

}  // namespace podgpu
