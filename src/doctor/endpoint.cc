#include "doctor/endpoint.h"

#include <optional>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "exposition/gzip.h"

namespace podgpu {
namespace {

constexpr size_t kMostBytes = size_t{16} << 20;

bool IsEverywhere(const std::string& host) {
  return host.empty() || host == "0.0.0.0" || host == "::" || host == "localhost";
}

}  // namespace

Endpoint::Endpoint(ListenAddress address, std::string authorization, Clock& clock,
                   std::chrono::milliseconds patience)
    : address_(std::move(address)),
      authorization_(std::move(authorization)),
      clock_(clock),
      patience_(patience) {}

StatusOr<HttpAnswer> Endpoint::Get(const std::string& path) {
  StatusOr<HttpAnswer> answer = Ask(path);
  if (!answer.ok() && answer.status().code() == absl::StatusCode::kDataLoss && !uses_tls_) {
    uses_tls_ = true;
    answer = Ask(path);
  }
  return answer;
}

StatusOr<HttpAnswer> Endpoint::Ask(const std::string& path) const {
  HttpClient client({.deadline = patience_});
  if (uses_tls_) {
    HttpClientTls tls;
    tls.trusts_anyone = true;
    PODGPU_RETURN_IF_ERROR(client.UseTls(&tls));
  }
  const std::string ip = IsEverywhere(address_.host) ? "127.0.0.1" : address_.host;
  std::optional<StatusOr<HttpAnswer>> answer;
  HttpQuestion question;
  question.ip = ip;
  question.port = address_.port;
  question.unix_path = address_.path;
  question.host = address_.path.empty() ? ip : "localhost";
  question.path = path;
  question.authorization = authorization_;
  client.Ask(std::move(question),
             [&answer](StatusOr<HttpAnswer> told) { answer = std::move(told); });
  const Instant deadline = clock_.Now() + patience_;
  while (!answer && clock_.Now() < deadline) {
    client.Run(deadline);
  }
  if (!answer) {
    return absl::DeadlineExceededError("no answer in time");
  }
  if (answer->ok() && (*answer)->content_encoding == "gzip") {
    PODGPU_ASSIGN_OR_RETURN((*answer)->body, Inflate((*answer)->body, kMostBytes));
  }
  return *std::move(answer);
}

std::string ValueOf(std::string_view page, std::string_view key) {
  for (const std::string_view line : Split(page, '\n')) {
    if (line.starts_with(key)) {
      return std::string(line.substr(line.rfind(' ') + 1));
    }
  }
  return {};
}

}  // namespace podgpu
