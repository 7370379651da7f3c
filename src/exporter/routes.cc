#include "exporter/routes.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "absl/strings/str_format.h"

#include "base/go_values.h"
#include "base/text.h"
#include "base/version.h"
#include "pages/explain.h"
#include "pages/legacy_page.h"
#include "pages/node_page.h"
#include "pages/vcuda_page.h"
#include "ui/condition_json.h"
#include "ui/explanation.h"
#include "ui/responses.h"
#include "ui/status_page.h"

namespace podgpu {
namespace {

// For this long after its first request, the legacy page waits for the first reading of its fields.
// Later requests never wait, even if the driver hangs.
constexpr std::chrono::seconds kLegacyPatience{3};

struct RouteContext {
  const RouteOptions& options;
  const Tick& tick;
  const Clock& clock;
  LegacyPage& legacy;
  std::optional<Instant>& legacy_since;  // When a client first requested the legacy page.
  NodePage& node;
  VcudaPage& vcuda;
};

HttpResponse ServeMetrics(const RouteContext& context, const HttpRequest& request) {
  return PageResponse(context.tick.snapshots().Get(), request);
}

HttpResponse ServeLegacy(const RouteContext& context, const HttpRequest& request) {
  context.options.want_legacy();
  const Instant now = context.clock.Now();
  const Instant since = context.legacy_since.value_or(now);
  context.legacy_since = since;
  if (!request.must_answer && now - since < kLegacyPatience && context.tick.lacks_fields()) {
    HttpResponse later;
    later.ask_again = true;
    return later;
  }
  return PageResponse(context.legacy.Of(context.tick.snapshots().Get()), request);
}

// Requests and use of containers, under gpu-manager's path.
HttpResponse ServeVcuda(const RouteContext& context, const HttpRequest& request) {
  if (!context.options.requested_vs_used) {
    return TextResponse(404,
                        "404: this page, which compares what containers request with what they "
                        "use, is off; start podgpu with --requested-vs-used=on. All other metrics "
                        "are under /metrics\n");
  }
  return PageResponse(context.vcuda.Of(context.tick.snapshots().Get()), request);
}

// Answers like dcgm-exporter: always 200, the state in headers and body, no newline at the end.
HttpResponse ServeHealth(const RouteContext& context, const HttpRequest& /*request*/) {
  const bool available = context.tick.snapshots().Get() != nullptr;
  HttpResponse response = TextResponse(200, available ? "OK" : "OK - reload in progress");
  AddHeader(response, "X-Registry-Available", available ? "true" : "false");
  if (!available || context.tick.is_reloading()) {
    AddHeader(response, "X-Reload-In-Progress", "true");
  }
  return response;
}

// Alive means that the tick is running; it depends neither on the driver nor on the kubelet.
HttpResponse ServeLiveness(const RouteContext& context, const HttpRequest& /*request*/) {
  const Duration since = context.clock.Now() - context.tick.last_ended();
  if (context.tick.ticks() > 0 && since <= context.options.tick_deadline) {
    return TextResponse(200, "ok\n");
  }
  return TextResponse(503, absl::StrFormat("no page has been made for %.1f s\n",
                                           std::chrono::duration<double>(since).count()));
}

HttpResponse ServeReadiness(const RouteContext& context, const HttpRequest& /*request*/) {
  const std::shared_ptr<const Condition> condition = context.tick.conditions().Get();
  if (condition == nullptr) {
    return TextResponse(503, "not ready: the first page is not ready yet\n");
  }
  return TextResponse(condition->ready ? 200 : 503, condition->verdict + "\n");
}

StatusOr<Explanation> ExplainRequest(const RouteContext& context, const HttpRequest& request) {
  PODGPU_ASSIGN_OR_RETURN(const ExplainQuery query, ParseExplainQuery(request.query));
  const Tick& tick = context.tick;
  const std::shared_ptr<const Snapshot> page = tick.snapshots().Get();
  const std::shared_ptr<const Condition> condition = tick.conditions().Get();
  const std::shared_ptr<const PodFacts> pods = tick.sources().pods.Get();
  const TickOptions& options = tick.options();
  return Explain({page.get(), condition.get(), *pods, context.clock.Now(), options.stale_after,
                  options.owners_stay_for, options.join, options.view, options.visible},
                 query);
}

int StatusOf(const Explanation& explanation) { return explanation.lacks_device ? 404 : 200; }

// Answers with HTML to a browser, else with text.
HttpResponse ServeExplain(const RouteContext& context, const HttpRequest& request) {
  const StatusOr<Explanation> explanation = ExplainRequest(context, request);
  if (!explanation.ok()) {
    return TextResponse(400, std::string(explanation.status().message()) + "\n");
  }
  HttpResponse response =
      request.accept.find("text/html") == std::string_view::npos
          ? TextResponse(200, ExplanationText(*explanation))
          : HtmlResponse(ExplanationHtml(*explanation, context.options.hostname));
  response.status = StatusOf(*explanation);
  AddHeader(response, "Vary", "Accept");
  return response;
}

HttpResponse ServeExplainJson(const RouteContext& context, const HttpRequest& request) {
  const StatusOr<Explanation> explanation = ExplainRequest(context, request);
  return explanation.ok()
             ? JsonResponse(StatusOf(*explanation), ExplanationJson(*explanation))
             : JsonResponse(400, ErrorJson(std::string(explanation.status().message())));
}

HttpResponse ServeStatusJson(const RouteContext& context, const HttpRequest& /*request*/) {
  const std::shared_ptr<const Condition> condition = context.tick.conditions().Get();
  return condition != nullptr ? JsonResponse(200, ConditionJson(*condition))
                              : JsonResponse(503, ErrorJson("the first page is not ready yet"));
}

// Whether the kubelet's last answer is not too old.
bool OwnersAreKnown(const RouteContext& context) {
  const std::shared_ptr<const PodFacts> pods = context.tick.sources().pods.Get();
  return pods->value != nullptr &&
         context.clock.Now() - pods->good_at <= context.tick.options().owners_stay_for;
}

HttpResponse ServeNode(const RouteContext& context, const HttpRequest& request) {
  context.options.want_use();
  const std::shared_ptr<const Snapshot> snapshot = context.tick.snapshots().Get();
  const std::shared_ptr<const Condition> condition = context.tick.conditions().Get();
  const std::shared_ptr<const NodeDocument> node =
      context.node.Of({snapshot, condition, OwnersAreKnown(context), context.options.node,
                       context.tick.options().visible});
  if (node == nullptr) {
    return JsonResponse(503, ErrorJson("the first page is not ready yet"));
  }
  HttpResponse response = DocumentResponse(node->document, request);
  const auto age = std::chrono::floor<std::chrono::seconds>(context.clock.Now() - node->read_at);
  AddHeader(response, "Age", std::to_string(std::max<int64_t>(age.count(), 0)));
  return response;
}

// The words of an endpoint that switches between two states: the usual one, and one for some time.
struct ControlWords {
  const char* usual;  // As a value of `state`.
  const char* asked;
  std::chrono::seconds for_usually, for_at_most;
  Duration (DeviceControl::*left)() const;
  void (DeviceControl::*ask)(Duration time);
};

HttpResponse ControlState(const ControlWords& words, const DeviceControl& control) {
  const auto left = std::chrono::ceil<std::chrono::seconds>((control.*words.left)());
  return JsonResponse(200,
                      absl::StrFormat("{\"state\":\"%s\",\"for_seconds\":%d}\n",
                                      left.count() > 0 ? words.asked : words.usual, left.count()));
}

// "state=paused&for=10m"; `for` may be left out.
StatusOr<Duration> AskedTime(const ControlWords& words, std::string_view query) {
  std::string_view state;
  Duration time = words.for_usually;
  for (const std::string_view parameter : Split(query, '&')) {
    if (parameter.starts_with("state=")) {
      state = parameter.substr(6);
    } else if (parameter.starts_with("for=")) {
      const auto parsed = ParseGoDuration(parameter.substr(4));
      if (!parsed || *parsed <= Duration::zero() || *parsed > words.for_at_most) {
        return absl::InvalidArgumentError(absl::StrFormat(
            "\"for\" must be a time such as 30s, at most %d s", words.for_at_most.count()));
      }
      time = std::chrono::duration_cast<Duration>(*parsed);
    } else if (!parameter.empty()) {
      return absl::InvalidArgumentError("the parameters are \"state\" and \"for\"");
    }
  }
  if (state != words.usual && state != words.asked) {
    return absl::InvalidArgumentError(
        absl::StrFormat("\"state\" must be \"%s\" or \"%s\"", words.asked, words.usual));
  }
  return state == words.asked ? time : Duration::zero();
}

HttpResponse ServeControl(const ControlWords& words, const RouteContext& context,
                          const HttpRequest& request) {
  DeviceControl* const control = context.options.control;
  if (control == nullptr) {
    return JsonResponse(403, ErrorJson("podgpu runs without --web-enable-control"));
  }
  if (request.method == "POST") {
    const StatusOr<Duration> time = AskedTime(words, request.query);
    if (!time.ok()) {
      return JsonResponse(400, ErrorJson(std::string(time.status().message())));
    }
    (control->*words.ask)(*time);
  }
  return ControlState(words, *control);
}

HttpResponse ServeProfiling(const RouteContext& context, const HttpRequest& request) {
  constexpr ControlWords kWords = {"running",
                                   "paused",
                                   std::chrono::minutes(10),
                                   std::chrono::hours(24),
                                   &DeviceControl::profiling_paused_for,
                                   &DeviceControl::PauseProfilingFor};
  return ServeControl(kWords, context, request);
}

HttpResponse ServeDevices(const RouteContext& context, const HttpRequest& request) {
  constexpr ControlWords kWords = {"held",
                                   "released",
                                   std::chrono::seconds(30),
                                   std::chrono::hours(1),
                                   &DeviceControl::release_time_left,
                                   &DeviceControl::ReleaseFor};
  return ServeControl(kWords, context, request);
}

HttpResponse ServeStatusPage(const RouteContext& context, const HttpRequest& request);

struct Route {
  std::string_view path;
  HttpResponse (*serve)(const RouteContext& context, const HttpRequest& request);
};

constexpr Route kRoutes[] = {
    {"/", ServeStatusPage},
    {"/metrics", ServeMetrics},
    {"/metric", ServeVcuda},
    {"/gpu/metrics", ServeLegacy},
    {"/health", ServeHealth},
    {"/healthz", ServeLiveness},
    {"/readyz", ServeReadiness},
    {"/explain", ServeExplain},
    {"/api/v1/node", ServeNode},
    {"/api/v1/explain", ServeExplainJson},
    {"/api/v1/status", ServeStatusJson},
    {"/api/v1/profiling", ServeProfiling},
    {"/api/v1/devices", ServeDevices},
};

HttpResponse ServeStatusPage(const RouteContext& context, const HttpRequest& request) {
  const std::shared_ptr<const Condition> condition = context.tick.conditions().Get();
  const std::shared_ptr<const Snapshot> snapshot = context.tick.snapshots().Get();
  StatusPageFacts facts{context.options.hostname,
                        kVersion,
                        condition.get(),
                        snapshot == nullptr ? 0 : snapshot->series_count(),
                        {}};
  for (const Route& route : kRoutes) {
    const bool is_off = route.serve == ServeVcuda && !context.options.requested_vs_used;
    if (route.path != "/" && !is_off) {
      facts.paths.push_back(route.path);
    }
  }
  // curl sends "Accept: */*" and gets text; a client without Accept gets HTML like a browser.
  const bool as_html =
      request.accept.empty() || request.accept.find("text/html") != std::string_view::npos;
  HttpResponse response =
      as_html ? HtmlResponse(RenderStatusPage(facts)) : TextResponse(200, StatusText(facts));
  AddHeader(response, "Vary", "Accept");
  return response;
}

}  // namespace

std::vector<std::string> ControlPaths() {
  std::vector<std::string> paths;
  for (const Route& route : kRoutes) {
    if (route.serve == ServeProfiling || route.serve == ServeDevices) {
      paths.emplace_back(route.path);
    }
  }
  return paths;
}

bool IsNodePath(std::string_view path) {
  return std::ranges::find(kRoutes, path, &Route::path) != std::end(kRoutes);
}

HttpHandler MakeRoutes(RouteOptions options, const Tick& tick, const Clock& clock) {
  if (options.node.empty()) {
    options.node = options.hostname;
  }
  return [options = std::move(options), &tick, &clock, legacy = std::make_shared<LegacyPage>(true),
          legacy_since = std::make_shared<std::optional<Instant>>(),
          node = std::make_shared<NodePage>(),
          vcuda = std::make_shared<VcudaPage>()](const HttpRequest& request) {
    const RouteContext context{options, tick, clock, *legacy, *legacy_since, *node, *vcuda};
    const std::string_view path =
        request.path == options.metrics_path ? "/metrics" : std::string_view(request.path);
    const auto* const route = std::ranges::find(kRoutes, path, &Route::path);
    HttpResponse response =
        route != std::end(kRoutes) ? route->serve(context, request) : ServeElsewhere(request);
    AddHeader(response, "X-Content-Type-Options", "nosniff");
    return response;
  };
}

HttpHandler MakeQueryRoutes(const Tick& tick) {
  return [&tick, vcuda = std::make_shared<VcudaPage>()](const HttpRequest& request) {
    const bool is_page = request.path == "/metric";
    HttpResponse response =
        is_page ? PageResponse(vcuda->Of(tick.snapshots().Get()), request)
                : TextResponse(404,
                               "404: the only page here is /metric, without an s; podgpu's other "
                               "pages are at its main address\n");
    AddHeader(response, "X-Content-Type-Options", "nosniff");
    return response;
  };
}

}  // namespace podgpu
