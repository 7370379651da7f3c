#include "cluster/prometheus_client.h"

#include "absl/strings/str_format.h"

#include "base/text.h"
#include "cluster/prometheus_answer.h"
#include "exposition/gzip.h"

namespace podgpu {
namespace {

std::string_view RemedyOf(int status) {
  switch (status) {
    case 401:
    case 403:
      return ": Prometheus requires a password, certificate or tenant; set --in-use-web-config or "
             "--in-use-tenant";
    case 404:
      return ": check whether the address needs a path, such as /prometheus";
    case 405:
      return ": a proxy there must permit POST";
    case 413:
      return ": raise the limit of a proxy there for the size of requests";
    default:
      return "";
  }
}

}  // namespace

StatusOr<PrometheusUrl> ParsePrometheusUrl(std::string_view text) {
  constexpr std::string_view kPlainScheme = "http://";
  constexpr std::string_view kTlsScheme = "https://";
  constexpr uint16_t kPlainPort = 80;
  constexpr uint16_t kTlsPort = 443;
  PrometheusUrl url;
  url.is_tls = text.starts_with(kTlsScheme);
  if (!url.is_tls && !text.starts_with(kPlainScheme)) {
    return absl::InvalidArgumentError("must be http://HOST:PORT or https://HOST:PORT, with a path");
  }
  text.remove_prefix(url.is_tls ? kTlsScheme.size() : kPlainScheme.size());
  const std::string_view authority = text.substr(0, text.find('/'));
  if (authority.find('@') != std::string_view::npos) {
    return absl::InvalidArgumentError(
        "must not contain a password; write it into the file of --in-use-web-config");
  }
  std::string_view prefix = text.substr(authority.size());
  if (prefix.find_first_of("?# ") != std::string_view::npos) {
    return absl::InvalidArgumentError("must end with its path; podgpu appends the query");
  }
  while (prefix.ends_with('/')) {
    prefix.remove_suffix(1);
  }
  url.prefix = prefix;
  PODGPU_ASSIGN_OR_RETURN(url.server, ParseHostAndPort(authority));
  if (authority.ends_with(']') || authority.find(':') == std::string_view::npos) {
    url.server.port = url.is_tls ? kTlsPort : kPlainPort;
  }
  return url;
}

PrometheusClient::PrometheusClient(PrometheusClientOptions options, const Files& files,
                                   Resolver resolve, Clock& clock)
    : options_(std::move(options)),
      resolve_(std::move(resolve)),
      clock_(clock),
      client_(options_.client),
      access_(options_.web_config, options_.url && options_.url->is_tls, files, clock) {}

void PrometheusClient::Prepare() {
  access_.Refresh(client_);
  const std::string host = options_.url.value_or(PrometheusUrl()).server.host;
  const StatusOr<std::vector<std::string>> ips = resolve_(host);
  if (ips.ok() && !ips->empty()) {
    ip_ = ips->front();
  } else {
    ip_ = absl::UnavailableError(ips.ok() ? Quoted(host) + " has no address"
                                          : std::string(ips.status().message()));
  }
}

HttpQuestion PrometheusClient::QuestionFor(const std::string& path) const {
  const PrometheusUrl url = options_.url.value_or(PrometheusUrl());
  const NodeWebAccess& access = access_.access();
  HttpQuestion question;
  question.ip = ip_.value_or("");
  question.port = url.server.port;
  question.host = ToString(url.server);
  question.path = url.prefix + path;
  question.certificate_name = access.server_name.empty() ? url.server.host : access.server_name;
  question.authorization = access.authorization;
  if (!options_.tenant.empty()) {
    question.headers.emplace_back("X-Scope-OrgID", options_.tenant);
  }
  return question;
}

PrometheusReply PrometheusClient::Ask(const std::string& path, const std::stop_token& stop) {
  return Send(QuestionFor(path), stop);
}

PrometheusReply PrometheusClient::Post(const std::string& path, std::string form,
                                       const std::stop_token& stop) {
  HttpQuestion question = QuestionFor(path);
  question.form = std::move(form);
  return Send(std::move(question), stop);
}

PrometheusReply PrometheusClient::Send(HttpQuestion question, const std::stop_token& stop) {
  if (!ip_.ok()) {
    return Judge(ip_.status());
  }
  std::optional<StatusOr<HttpAnswer>> answer;
  client_.Ask(std::move(question),
              [&answer](StatusOr<HttpAnswer> received) { answer = std::move(received); });
  const Instant limit = clock_.Now() + options_.client.deadline + std::chrono::seconds(1);
  while (!answer && !stop.stop_requested()) {
    client_.Run(limit);
  }
  return Judge(answer ? *std::move(answer) : absl::CancelledError("it ends"));
}

PrometheusReply PrometheusClient::Judge(StatusOr<HttpAnswer> answer) const {
  constexpr int kGood = 200;
  PrometheusReply reply;
  if (!answer.ok()) {
    reply.result = FetchResultOf(answer.status());
    reply.detail = std::string(answer.status().message());
    reply.is_gone =
        absl::IsDeadlineExceeded(answer.status()) || absl::IsUnavailable(answer.status());
    return reply;
  }
  reply.body = std::move(answer->body);
  if (answer->content_encoding == "gzip") {
    StatusOr<std::string> inflated = Inflate(reply.body, options_.client.max_body_bytes);
    if (!inflated.ok()) {
      reply.detail = std::string(inflated.status().message());
      reply.result = absl::IsResourceExhausted(inflated.status()) ? FetchResult::kTooLarge
                                                                  : FetchResult::kBroken;
      return reply;
    }
    reply.body = *std::move(inflated);
  }
  if (answer->status != kGood) {
    reply.detail = absl::StrFormat("it answers %d %s%s", answer->status,
                                   PrometheusComplaint(reply.body), RemedyOf(answer->status));
    reply.result = FetchResult::kRefused;
    reply.status = answer->status;
    return reply;
  }
  reply.result = FetchResult::kOk;
  return reply;
}

}  // namespace podgpu
