// Answers the requests of the metrics API: who calls, may the caller do it, what is the answer.
//
// Probes need no caller. While the API server reviews a token or an access, the request waits
// without a thread (HttpResponse::ask_again). Every answer other than 200 is a Status object that
// says why. Answers for external metrics are kept until the next table. Used on the HTTP thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>

#include "base/clock.h"
#include "base/published.h"
#include "http/server.h"
#include "metrics_api/access/authenticator.h"
#include "metrics_api/access/reviewer.h"
#include "metrics_api/access/watches.h"
#include "metrics_api/serving/request_path.h"
#include "metrics_api/serving/tally.h"

namespace podgpu {

// The objects that the handler reads; all outlive it.
struct MetricsSources {
  const Published<MetricsTable>& table;
  const Published<TrustedCallers>& trusted;
  const PodLabelWatch& pod_labels;
  Reviewer& reviewer;
  const Clock& clock;
  MetricsTally& tally;
  std::function<MetricsApiVerdict()> judge;
  int64_t window_s = 60;
};

class MetricsHandler {
 public:
  explicit MetricsHandler(MetricsSources sources) : sources_(std::move(sources)) {}

  HttpResponse Serve(const HttpRequest& request);

 private:
  // A refusal, or a reason to wait; empty: go on.
  using Stop = std::optional<HttpResponse>;

  HttpResponse Answer(const HttpRequest& request);
  Stop Identify(const HttpRequest& request, Identity& identity);
  Stop Authorise(const HttpRequest& request, const Identity& identity, const MetricsPath& path);
  Stop AwaitReview(const HttpRequest& request, const Review& review,
                   std::shared_ptr<const ReviewResult>& result);
  HttpResponse Refuse(int code, RefusalReason reason, std::string_view message);
  HttpResponse AnswerPath(const HttpRequest& request, const MetricsPath& path);
  HttpResponse AnswerExternal(const HttpRequest& request, const MetricsPath& path);
  HttpResponse MakeExternal(const MetricsTable& table, const HttpRequest& request,
                            const MetricsPath& path) const;
  HttpResponse AnswerPods(const HttpRequest& request, const MetricsPath& path) const;

  const MetricsSources sources_;
  Authenticator authenticator_;
  std::shared_ptr<const MetricsTable> answered_table_;  // The table that `answers_` were made from.
  std::unordered_map<std::string, HttpResponse> answers_;  // Answers by path and query.
};

}  // namespace podgpu
