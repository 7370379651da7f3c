#include "doctor/endpoint.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>
#include <sys/socket.h>
#include <sys/un.h>
#include <utility>

#include "absl/strings/str_format.h"

#include "base/file_descriptor.h"
#include "base/text.h"
#include "exposition/gzip.h"

namespace podgpu {
namespace {

constexpr size_t kMostBytes = size_t{16} << 20;

bool IsEverywhere(const std::string& host) {
  return host.empty() || host == "0.0.0.0" || host == "::" || host == "localhost";
}

}  // namespace

Endpoint::Endpoint(ListenAddress address, Clock& clock, std::chrono::milliseconds patience)
    : address_(std::move(address)), clock_(clock), patience_(patience) {}

StatusOr<HttpAnswer> Endpoint::Get(const std::string& path) {
  if (!address_.path.empty()) {
    PODGPU_RETURN_IF_ERROR(TryUnixSocket());
    return absl::UnimplementedError("a unix socket is not asked");
  }
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
  question.host = ip;
  question.path = path;
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

Status Endpoint::TryUnixSocket() const {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (address_.path.size() >= sizeof address.sun_path) {
    return absl::UnavailableError(address_.path + " is too long for a socket");
  }
  std::ranges::copy(address_.path, std::begin(address.sun_path));
  const FileDescriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
    return absl::UnavailableError(address_.path + " accepts no connection");
  }
  return absl::OkStatus();
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
