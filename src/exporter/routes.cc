#include "exporter/routes.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
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
#include "pages/node_status_page.h"
#include "pages/vcuda_page.h"
#include "ui/error_json.h"
#include "ui/explanation.h"
#include "ui/page_assets.h"
#include "ui/responses.h"
#include "ui/status_page.h"
#include "ui/status_text.h"

namespace podgpu {
namespace {

constexpr std::chrono::milliseconds kLegacyPatience{3'000};
// Programs such as the doctor read the status with short deadlines.
constexpr std::chrono::milliseconds kStatusPatience{300};

// What stays from one request to the next.
struct Pages {
  LegacyPage legacy{true};
  NodePage node;
  VcudaPage vcuda;
  NodeStatusPage status;
  std::map<FieldIds, Instant> wanted_at;  // Times of the first requests for fields of pages.
  // Longest time in which an answer for /metrics was made, since the start.
  std::optional<double> slowest_scrape_seconds;
  std::string source;  // The source that was chosen last; empty before.
};

struct RouteContext {
  const RouteOptions& options;
  const Tick& tick;
  const Clock& clock;
  Pages& pages;
};

HttpResponse ServeMetrics(const RouteContext& context, const HttpRequest& request) {
  const Instant began = context.clock.Now();
  HttpResponse response = PageResponse(context.tick.snapshots().Get(), request);
  const double took = std::chrono::duration<double>(context.clock.Now() - began).count();
  context.pages.slowest_scrape_seconds =
      std::max(context.pages.slowest_scrape_seconds.value_or(0), took);
  return response;
}

HttpResponse ServeLegacy(const RouteContext& context, const HttpRequest& request) {
  return PageResponse(context.pages.legacy.Of(context.tick.snapshots().Get()), request);
}

bool MakesVcuda(const PageOptions& options) { return options.vcuda.enabled; }

// Requests and use of containers, under gpu-manager's path.
HttpResponse ServeVcuda(const RouteContext& context, const HttpRequest& request) {
  if (!MakesVcuda(context.tick.options())) {
    return TextResponse(404,
                        "404: this page, which compares what containers request with what they "
                        "use, is off; start podgpu with --requested-vs-used=on. All other metrics "
                        "are under /metrics\n");
  }
  return PageResponse(context.pages.vcuda.Of(context.tick.snapshots().Get()), request);
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
  constexpr int kPeriods = 3;
  constexpr Duration kShortest = std::chrono::seconds(10);
  const Duration deadline = std::max<Duration>(context.tick.options().period * kPeriods, kShortest);
  const Duration since = context.clock.Now() - context.tick.last_ended();
  if (context.tick.ticks() > 0 && since <= deadline) {
    return TextResponse(200, "ok\n");
  }
  return TextResponse(503, absl::StrFormat("no page has been made for %.1f s\n",
                                           std::chrono::duration<double>(since).count()));
}

// A roll-out asks with `exclude=devices`, a word of Kubernetes' own probes: a sick GPU must not
// keep podgpu on other nodes from being replaced.
HttpResponse ServeReadiness(const RouteContext& context, const HttpRequest& request) {
  const std::shared_ptr<const Condition> condition = context.tick.conditions().Get();
  if (condition == nullptr) {
    return TextResponse(503, "not ready: the first page is not ready yet\n");
  }
  if (request.query == "exclude=devices" && condition->reads && !condition->ready) {
    return TextResponse(200, absl::StrFormat("ready, devices excluded (%s)\n", condition->verdict));
  }
  return TextResponse(condition->ready ? 200 : 503, condition->verdict + "\n");
}

StatusOr<Explanation> ExplainRequest(const RouteContext& context, const HttpRequest& request) {
  PODGPU_ASSIGN_OR_RETURN(const ExplainQuery query, ParseExplainQuery(request.query));
  const Tick& tick = context.tick;
  const auto [page, condition] = tick.newest();
  const std::shared_ptr<const PodFacts> pods = tick.sources().pods.Get();
  const TickOptions& options = tick.options();
  const UseCopy use = tick.CopyUse();
  return Explain({page.get(), condition.get(), *pods, context.clock.Now(), options.stale_after,
                  options.owners_stay_for, options.join, options.view, options.visible, use,
                  tick.timeline(), context.clock.WallNow()},
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
          : HtmlResponse(ExplanationHtml(*explanation, context.tick.options().view.hostname));
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

HttpResponse ServeNode(const RouteContext& context, const HttpRequest& request) {
  const auto [snapshot, condition] = context.tick.newest();
  const std::shared_ptr<const NodeDocument> node = context.pages.node.Of(
      {snapshot, condition, context.tick.options().node, context.tick.options().visible,
       [&tick = context.tick] { return tick.CopyUse(); }});
  if (node == nullptr) {
    return JsonResponse(503, ErrorJson("the first page is not ready yet"));
  }
  HttpResponse response = DocumentResponse(node->document, request);
  const Duration age = std::max(context.clock.Now() - node->read_at, Duration::zero());
  AddHeader(response, "Age", std::to_string(std::chrono::floor<std::chrono::seconds>(age).count()));
  AddHeader(response, "X-Podgpu-Age-Ms",
            std::to_string(std::chrono::floor<std::chrono::milliseconds>(age).count()));
  return response;
}

// Returns "nvml" or "dcgm": the configured source, or the one that --source=auto has chosen.  The
// description begins with the name of the chosen one.  While the source fails, the description is
// the failure and the last choice stays.
std::string_view SourceName(const RouteContext& context) {
  if (!context.options.source.empty()) {
    return context.options.source;
  }
  constexpr std::pair<std::string_view, std::string_view> kDescriptions[] = {{"NVML of ", "nvml"},
                                                                             {"dcgm ", "dcgm"}};
  const std::shared_ptr<const SourceStatus> status = context.tick.sources().source.Get();
  for (const auto& [begin, name] : kDescriptions) {
    if (status != nullptr && status->detail.starts_with(begin)) {
      context.pages.source = name;
    }
  }
  return context.pages.source;
}

// Calls `make` with the page of statuses and the facts of the newest one.
template <typename Make>
auto WithStatusFacts(const RouteContext& context, const Make& make) {
  const Tick& tick = context.tick;
  const auto [snapshot, condition] = tick.newest();
  const std::function<UseCopy()> copy_use = [&tick] { return tick.CopyUse(); };
  return make(context.pages.status,
              NodeStatusFacts{.snapshot = snapshot,
                              .condition = condition,
                              .node = context.tick.options().node,
                              .source = SourceName(context),
                              .visible = tick.options().visible,
                              .timeline = tick.timeline(),
                              .copy_use = copy_use,
                              .interval = tick.options().period,
                              .stale_after = tick.options().stale_after,
                              .ledger = tick.options().processes.ledger,
                              .slowest_scrape_seconds = context.pages.slowest_scrape_seconds,
                              .now = context.clock.Now(),
                              .wall_now = context.clock.WallNow()});
}

HttpResponse ServeStatusJson(const RouteContext& context, const HttpRequest& request) {
  const StatusOr<StatusParts> parts = ParseStatusQuery(request.query);
  if (!parts.ok()) {
    return JsonResponse(400, ErrorJson(std::string(parts.status().message())));
  }
  return WithStatusFacts(context, [&](NodeStatusPage& page, const NodeStatusFacts& facts) {
    const std::shared_ptr<Document> document = page.DocumentOf(facts, *parts);
    if (document == nullptr) {
      return JsonResponse(503, ErrorJson("the first page is not ready yet"));
    }
    HttpResponse response = DocumentResponse(document, request);
    if (const Grid* const grid = facts.snapshot->parts().grid.get()) {
      const auto age =
          std::chrono::floor<std::chrono::milliseconds>(facts.now - grid->read_at).count();
      AddHeader(response, "X-Podgpu-Age-Ms", std::to_string(std::max<int64_t>(age, 0)));
    }
    return response;
  });
}

// The words of an endpoint that switches between two states: the usual one, and one for some time.
struct ControlWords {
  const char* usual;  // A value of `state`, as is the next.
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

// Parses "state=paused&for=10m"; `for` may be left out.
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
  FieldIds fields = nullptr;  // Read from the first request on; null: it needs no others.
  // For this long after the first request, answers wait for the first reading of the fields.  Later
  // ones never wait, even if the driver hangs.
  std::chrono::milliseconds patience{0};
  // Returns whether a flag switches the page on; its fields are then read from the start.  Null:
  // the page is always on.
  bool (*is_on)(const PageOptions& options) = nullptr;
};

constexpr Route kRoutes[] = {
    {"/", ServeStatusPage, StatusFieldIds, kStatusPatience},
    {"/metrics", ServeMetrics},
    {"/metric", ServeVcuda, VcudaFieldIds, {}, MakesVcuda},
    {"/gpu/metrics", ServeLegacy, LegacyFieldIds, kLegacyPatience},
    {"/health", ServeHealth},
    {"/healthz", ServeLiveness},
    {"/readyz", ServeReadiness},
    {"/explain", ServeExplain},
    {"/api/v1/node", ServeNode, UseFieldIds},
    {"/api/v1/explain", ServeExplainJson},
    {"/api/v1/status", ServeStatusJson, StatusFieldIds, kStatusPatience},
    {"/api/v1/profiling", ServeProfiling},
    {"/api/v1/devices", ServeDevices},
};

bool IsOn(const Route& route, const PageOptions& options) {
  return route.is_on == nullptr || route.is_on(options);
}

HttpResponse ServeStatusPage(const RouteContext& context, const HttpRequest& request) {
  const std::shared_ptr<const NodeStatus> status =
      WithStatusFacts(context, [](NodeStatusPage& page, const NodeStatusFacts& facts) {
        return page.Of(facts, {.processes = true, .history = true});
      });
  const auto now = context.clock.WallNow().time_since_epoch();
  StatusPageFacts facts{context.tick.options().view.hostname,
                        kVersion,
                        status.get(),
                        std::chrono::floor<std::chrono::milliseconds>(now).count(),
                        {},
                        context.tick.options().fleet_url};
  for (const Route& route : kRoutes) {
    if (route.path != "/" && IsOn(route, context.tick.options())) {
      facts.paths.push_back(route.path);
    }
  }
  // curl sends "Accept: */*" and gets text; a client without Accept gets HTML like a browser.
  const bool as_html =
      request.accept.empty() || request.accept.find("text/html") != std::string_view::npos;
  if (!as_html) {
    HttpResponse response = TextResponse(200, StatusText(facts));
    AddHeader(response, "Vary", "Accept");
    return response;
  }
  HttpResponse response =
      DocumentResponse(MakeDocument(RenderStatusPage(facts), "text/html; charset=utf-8"), request);
  AddPagePolicy(response);
  AddHeader(response, "Vary", "Accept");
  return response;
}

// Has the fields of the page read from now on.  Returns whether the answer should wait for them.
bool AwaitsFields(const Route& route, const RouteContext& context, const HttpRequest& request) {
  if (route.fields == nullptr || !IsOn(route, context.tick.options())) {
    return false;
  }
  const Instant now = context.clock.Now();
  const auto [first, is_new] = context.pages.wanted_at.try_emplace(route.fields, now);
  if (is_new) {
    context.options.want(route.fields);
  }
  return !request.must_answer && now - first->second < route.patience &&
         context.tick.lacks_fields();
}

HttpResponse Answer(const Route& route, const RouteContext& context, const HttpRequest& request) {
  if (AwaitsFields(route, context, request)) {
    HttpResponse later;
    later.ask_again = true;
    return later;
  }
  return route.serve(context, request);
}

}  // namespace

std::vector<FieldIds> FieldsFromStart(const PageOptions& options) {
  std::vector<FieldIds> fields;
  for (const Route& route : kRoutes) {
    if (route.fields != nullptr && route.is_on != nullptr && route.is_on(options)) {
      fields.push_back(route.fields);
    }
  }
  return fields;
}

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
  return path.starts_with("/assets/") ||
         std::ranges::find(kRoutes, path, &Route::path) != std::end(kRoutes);
}

namespace {

std::shared_ptr<const PageAssets> NodePageAssets() {
  auto assets = std::make_shared<PageAssets>(NodeFiles());
  assets->Add(NodePageGuide());
  return assets;
}

}  // namespace

HttpHandler MakeRoutes(RouteOptions options, const Tick& tick, const Clock& clock) {
  return [options = std::move(options), &tick, &clock, pages = std::make_shared<Pages>(),
          assets = NodePageAssets()](const HttpRequest& request) {
    const RouteContext context{options, tick, clock, *pages};
    const std::string_view path =
        request.path == options.metrics_path ? "/metrics" : std::string_view(request.path);
    const auto* const route = std::ranges::find(kRoutes, path, &Route::path);
    HttpResponse response = route != std::end(kRoutes) ? Answer(*route, context, request)
                            : assets->Has(path)        ? assets->Serve(path, request)
                                                       : ServeElsewhere(request);
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
