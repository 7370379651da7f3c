// Asks one Prometheus, Thanos or Mimir, one request after the other, each with a deadline.
//
// It looks the server's name up for each round, keeps the credentials up to date with their file,
// decompresses the answer, and turns each failure into a result and one line with a remedy.  The
// answer's content is not looked at.  Each thread that queries has a client of its own; only
// Interrupt may be called from any thread.
#pragma once

#include <chrono>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/files.h"
#include "cluster/client_access.h"
#include "cluster/discovery.h"
#include "cluster/fleet.h"
#include "http/client.h"

namespace podgpu {

// The address of the server: --in-use-prometheus.
struct PrometheusUrl {
  bool is_tls = false;
  HostAndPort server;
  std::string prefix;  // The path before /api/v1/query, without a slash at the end.
};
// "http://prometheus.monitoring:9090", "https://mimir.example/prometheus".
StatusOr<PrometheusUrl> ParsePrometheusUrl(std::string_view text);

struct PrometheusClientOptions {
  std::optional<PrometheusUrl> url;  // Empty: nothing may be asked.
  std::string tenant;                // X-Scope-OrgID; empty: none.
  std::string web_config;            // Path of a file as for --node-web-config; empty: none.
  HttpClientOptions client{.max_body_bytes = size_t{64} << 20};
};

struct PrometheusReply {
  FetchResult result = FetchResult::kNoConnection;
  std::string body;    // Body of a good answer.
  std::string detail;  // The reason why it is not good.
  int status = 0;      // Of an answer that is not good; 0 without an answer.
  // The server hangs or is down: another request now would fail as well.
  bool is_gone = false;
};

class PrometheusClient {
 public:
  // All borrowed objects must outlive it.
  PrometheusClient(PrometheusClientOptions options, const Files& files, Resolver resolve,
                   Clock& clock);

  // Looks the server's name up and reads the credentials.  Call it before each group of requests.
  void Prepare();
  // Sends one query and waits for the answer.  `path` begins below the server's prefix:
  // "/api/v1/query?query=...".
  PrometheusReply Ask(const std::string& path, const std::stop_token& stop);
  // The same with the parameters as a form, because proxies limit the length of a URL.
  PrometheusReply Post(const std::string& path, std::string form, const std::stop_token& stop);

  // Waits until `deadline` or Interrupt.
  void Wait(Instant deadline) { client_.Run(deadline); }
  void Interrupt() { client_.Interrupt(); }

 private:
  HttpQuestion QuestionFor(const std::string& path) const;
  PrometheusReply Send(HttpQuestion question, const std::stop_token& stop);
  PrometheusReply Judge(StatusOr<HttpAnswer> answer) const;

  const PrometheusClientOptions options_;
  const Resolver resolve_;
  Clock& clock_;
  HttpClient client_;
  ClientAccess access_;
  StatusOr<std::string> ip_ = absl::UnavailableError("not looked up yet");
};

}  // namespace podgpu
