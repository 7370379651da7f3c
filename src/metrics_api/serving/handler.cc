#include "metrics_api/serving/handler.h"

#include <algorithm>

#include "absl/strings/str_format.h"

#include "base/log.h"
#include "base/text.h"
#include "metrics_api/serving/documents.h"

namespace podgpu {
namespace {

using Kind = MetricsPath::Kind;

constexpr size_t kMostKeptAnswers = 1'024;
constexpr std::string_view kJsonType = "application/json";

HttpResponse JsonAnswer(std::string body, std::string_view type = kJsonType) {
  return TextResponse(200, std::move(body), std::string(type));
}

HttpResponse StatusAnswer(int code, std::string_view message) {
  HttpResponse response =
      TextResponse(code, StatusJson(code, StatusReason(code), message), std::string(kJsonType));
  if (code == 429 || code == 503) {
    response.headers.emplace_back("Retry-After", "1");
  }
  return response;
}

// An answer for a failed question to the table.
HttpResponse FailedQuestion(const Status& status) {
  return StatusAnswer(absl::IsInvalidArgument(status) ? 400 : 404, std::string(status.message()));
}

// Returns the thing that the caller of a path wants to do, in the words that the API server itself
// uses when it checks the same path: a path without the name of an object is a list
// (k8s.io/apiserver 0.34, endpoints/request/requestinfo.go), and `*` is a name.  So one right is
// enough for both checks.
AccessQuestion QuestionOf(const HttpRequest& request, const MetricsPath& path) {
  AccessQuestion question;
  if (path.kind != Kind::kExternal && path.kind != Kind::kPods && path.kind != Kind::kOtherObject) {
    question.path = request.path;
    return question;
  }
  const MetricsVersionRow& row = RowOf(path.version);
  question.group = row.group;
  question.version = row.name;
  question.name_space = path.name_space;
  if (path.kind == Kind::kExternal) {
    question.verb = "list";
    question.resource = path.metric;
    return question;
  }
  question.resource = path.kind == Kind::kPods ? "pods" : path.resource;
  question.subresource = path.metric;
  question.name = path.object;
  return question;
}

bool HasLabels(const LabelSelector& selector, const ObjectLabels* labels) {
  return labels != nullptr &&
         selector.Matches([labels](std::string_view key) -> std::optional<std::string_view> {
           const auto found = std::ranges::find(
               *labels, key, [](const auto& label) { return std::string_view(label.first); });
           return found == labels->end() ? std::nullopt
                                         : std::optional<std::string_view>(found->second);
         });
}

HttpResponse UnknownMetric(const MetricsPath& path) {
  std::string names;
  const auto add = [&names](const auto& rows) {
    for (const auto& row : rows) {
      names += (names.empty() ? "" : ", ") + std::string(row.name);
    }
  };
  path.kind == Kind::kExternal ? add(ExternalMetrics()) : add(PodMetrics());
  return StatusAnswer(404, absl::StrFormat("the metric %s does not exist; there are %s",
                                           Quoted(path.metric), names));
}

}  // namespace

HttpResponse MetricsHandler::Serve(const HttpRequest& request) {
  HttpResponse response = Answer(request);
  if (!response.ask_again) {
    sources_.tally.CountCode(response.status);
    response.headers.emplace_back("X-Content-Type-Options", "nosniff");
    response.headers.emplace_back("Cache-Control", "no-cache, private");
  }
  return response;
}

HttpResponse MetricsHandler::Answer(const HttpRequest& request) {
  if (request.method != "GET" && request.method != "HEAD") {
    return StatusAnswer(405, "the metrics API only reads: use GET");
  }
  const MetricsPath path = ReadMetricsPath(request.path);
  if (path.kind == Kind::kHealth) {
    return TextResponse(200, "ok\n");
  }
  if (path.kind == Kind::kReady) {
    const MetricsApiVerdict verdict = sources_.judge();
    return TextResponse(verdict.is_ready ? 200 : 503, verdict.text + "\n");
  }
  Identity identity;
  if (Stop stop = Identify(request, identity)) {
    return *std::move(stop);
  }
  if (Stop stop = Authorise(request, identity, path)) {
    return *std::move(stop);
  }
  return AnswerPath(request, path);
}

HttpResponse MetricsHandler::Refuse(int code, RefusalReason reason, std::string_view message) {
  if (sources_.tally.Count(reason)) {
    Log(LogLevel::kWarn, "the metrics API refused a request; further ones are only counted",
        {{"reason", std::string(kRefusalReasons[static_cast<size_t>(reason)])},
         {"why", std::string(message)}});
  }
  return StatusAnswer(code, message);
}

MetricsHandler::Stop MetricsHandler::Identify(const HttpRequest& request, Identity& identity) {
  const std::shared_ptr<const TrustedCallers> trusted = sources_.trusted.Get();
  if (trusted == nullptr) {
    return Refuse(503, RefusalReason::kNotReady,
                  "podgpu does not know yet which callers the API server trusts; see /readyz");
  }
  CallerClaim claim = authenticator_.Judge(request, trusted, sources_.clock.WallNow());
  switch (claim.kind) {
    case CallerClaim::Kind::kKnown:
      identity = std::move(claim.identity);
      return std::nullopt;
    case CallerClaim::Kind::kNothing:
      return Refuse(401, RefusalReason::kNoCredentials,
                    "Unauthorized: the request has neither a client certificate nor a token");
    case CallerClaim::Kind::kBadCertificate:
      return Refuse(401, RefusalReason::kBadCertificate,
                    "Unauthorized: the client certificate does not count: " + claim.why);
    case CallerClaim::Kind::kToken:
      break;
  }
  std::shared_ptr<const ReviewResult> result;
  if (Stop stop =
          AwaitReview(request, {ReviewKind::kToken, TokenReviewBody(claim.token)}, result)) {
    return stop;
  }
  if (!(*result)->is_granted) {
    return Refuse(401, RefusalReason::kBadToken, "Unauthorized: the token is not valid");
  }
  identity = (*result)->identity;
  return std::nullopt;
}

MetricsHandler::Stop MetricsHandler::Authorise(const HttpRequest& request, const Identity& identity,
                                               const MetricsPath& path) {
  if (std::ranges::count(identity.groups, kMasters) > 0) {
    return std::nullopt;
  }
  const AccessQuestion question = QuestionOf(request, path);
  std::shared_ptr<const ReviewResult> result;
  if (Stop stop = AwaitReview(request, {ReviewKind::kAccess, AccessReviewBody(identity, question)},
                              result)) {
    return stop;
  }
  if (!(*result)->is_granted) {
    return Refuse(403, RefusalReason::kForbidden,
                  ForbiddenMessage(identity, question, (*result)->reason));
  }
  return std::nullopt;
}

// Returns the response if there is no verdict: wait for it, or a refusal.
MetricsHandler::Stop MetricsHandler::AwaitReview(const HttpRequest& request, const Review& review,
                                                 std::shared_ptr<const ReviewResult>& result) {
  ReviewState state = sources_.reviewer.Ask(review);
  if (state.kind == ReviewState::Kind::kTooMany) {
    return Refuse(429, RefusalReason::kTooManyWaiting,
                  "too many requests wait for the API server to review their callers");
  }
  if (state.kind == ReviewState::Kind::kWaiting) {
    if (request.must_answer) {
      return Refuse(503, RefusalReason::kReviewFailed,
                    "the API server has not reviewed the caller in time");
    }
    HttpResponse later;
    later.ask_again = true;
    return later;
  }
  if (!state.result->ok()) {
    return Refuse(503, RefusalReason::kReviewFailed,
                  "the caller cannot be checked: " + std::string(state.result->status().message()));
  }
  result = std::move(state.result);
  return std::nullopt;
}

HttpResponse MetricsHandler::AnswerPath(const HttpRequest& request, const MetricsPath& path) {
  switch (path.kind) {
    case Kind::kGroupList:
      return AcceptsAggregated(request.accept)
                 ? JsonAnswer(AggregatedGroupListJson(), kAggregatedDiscovery)
                 : JsonAnswer(GroupListJson());
    case Kind::kGroup:
      return JsonAnswer(GroupJson(RowOf(path.version).group));
    case Kind::kResourceList:
      return JsonAnswer(ResourceListJson(path.version));
    case Kind::kOpenApiV2:
      return JsonAnswer(OpenApiV2Json());
    case Kind::kOpenApiV3:
      return JsonAnswer(OpenApiV3Json());
    case Kind::kOpenApiV3Version:
      return JsonAnswer(OpenApiV3VersionJson(path.version));
    case Kind::kExternal:
      return AnswerExternal(request, path);
    case Kind::kPods:
      return AnswerPods(request, path);
    case Kind::kOtherObject:
      return StatusAnswer(404, absl::StrFormat("podgpu has metrics of pods only, not of %s",
                                               Quoted(path.resource)));
    case Kind::kNotFound:
    case Kind::kHealth:
    case Kind::kReady:
      break;
  }
  return StatusAnswer(404, "the server could not find the requested resource");
}

HttpResponse MetricsHandler::AnswerExternal(const HttpRequest& request, const MetricsPath& path) {
  const std::shared_ptr<const MetricsTable> table = sources_.table.Get();
  if (table == nullptr) {
    return StatusAnswer(503, "no window of samples has been made yet; see /readyz");
  }
  if (table != answered_table_ || answers_.size() >= kMostKeptAnswers) {
    answered_table_ = table;
    answers_.clear();
  }
  std::string key(request.path);
  key += '?';
  key += request.query;
  const auto [kept, is_new] = answers_.try_emplace(std::move(key));
  if (is_new) {
    kept->second = MakeExternal(*table, request, path);
  }
  return kept->second;
}

HttpResponse MetricsHandler::MakeExternal(const MetricsTable& table, const HttpRequest& request,
                                          const MetricsPath& path) const {
  const std::optional<ExternalMetric> metric = FindExternalMetric(path.metric);
  if (!metric) {
    return UnknownMetric(path);
  }
  const StatusOr<LabelSelector> selector =
      ParseLabelSelector(ReadMetricsQuery(request.query).label_selector);
  if (!selector.ok()) {
    return FailedQuestion(selector.status());
  }
  const StatusOr<TimedValue> value = AskExternal(table, *metric, path.name_space, *selector);
  if (!value.ok()) {
    return FailedQuestion(value.status());
  }
  const bool is_of_namespace = *metric != ExternalMetric::kFreeGpus;
  return JsonAnswer(ExternalValueJson(path.metric, is_of_namespace ? path.name_space : "", *value,
                                      sources_.window_s));
}

HttpResponse MetricsHandler::AnswerPods(const HttpRequest& request, const MetricsPath& path) const {
  const std::shared_ptr<const MetricsTable> table = sources_.table.Get();
  const std::optional<PodMetric> metric = FindPodMetric(path.metric);
  if (!metric) {
    return UnknownMetric(path);
  }
  if (table == nullptr) {
    return StatusAnswer(503, "no window of samples has been made yet; see /readyz");
  }
  const MetricsQuery query = ReadMetricsQuery(request.query);
  const StatusOr<LabelSelector> of_pods = ParseLabelSelector(query.label_selector);
  const StatusOr<LabelSelector> of_metric = ParseLabelSelector(query.metric_label_selector);
  for (const auto* selector : {&of_pods, &of_metric}) {
    if (!selector->ok()) {
      return FailedQuestion(selector->status());
    }
  }
  PodQuestion question{.metric = *metric, .name_space = path.name_space, .name = path.object};
  if (path.object == "*") {
    question.name = {};
    if (!of_pods->requirements.empty()) {
      const std::shared_ptr<const WatchFacts> watch = sources_.pod_labels.facts().Get();
      if (!watch->has_data) {
        return StatusAnswer(503, "the labels of pods are not known: " + watch->detail);
      }
      question.selects = [&](std::string_view pod) {
        return HasLabels(*of_pods, sources_.pod_labels.LabelsOf(path.name_space, pod).get());
      };
    }
  }
  const StatusOr<std::vector<PodValue>> values = AskPods(*table, question, *of_metric);
  return values.ok() ? JsonAnswer(PodValuesJson({.version = path.version,
                                                 .metric = path.metric,
                                                 .name_space = path.name_space,
                                                 .selector = *of_metric,
                                                 .window_s = sources_.window_s},
                                                *values))
                     : FailedQuestion(values.status());
}

}  // namespace podgpu
