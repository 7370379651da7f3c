#include "top/fetch.h"

#include <arpa/inet.h>
#include <vector>

#include "absl/strings/str_format.h"
#include <boost/json.hpp>

#include "base/text.h"
#include "cluster/discovery.h"
#include "exposition/gzip.h"

namespace podgpu {
namespace {

constexpr size_t kMostAnswerBytes = size_t{64} << 20;  // A fleet of 40,000 GPUs has one MiB.
constexpr int kOk = 200, kNotModified = 304, kUnauthorized = 401, kForbidden = 403, kMissing = 404;
constexpr int kFirstRedirect = 300, kFirstError = 400;

// One request on its way.
struct Request {
  std::string path, etag;
  std::string accept = "application/json";
};

bool IsNumeric(const std::string& host) {
  in6_addr bytes{};
  return ::inet_pton(AF_INET, host.c_str(), &bytes) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), &bytes) == 1;
}

// Returns the last part of "connecting: Connection refused", with a small first letter.
std::string ShortFailure(const Status& status, bool tls) {
  std::string text(status.message());
  if (tls && absl::IsUnauthenticated(status) && text.find("certificate") == std::string::npos) {
    return absl::StrFormat("it does not speak TLS (%s); write http:// for it", text);
  }
  if (absl::IsUnavailable(status) && text.starts_with("connecting: ")) {
    text = text.substr(std::string_view("connecting: ").size());
  }
  if (absl::IsDeadlineExceeded(status)) {
    return "it does not answer in time";
  }
  if (absl::IsDataLoss(status)) {
    return "it does not speak HTTP, or speaks HTTPS";
  }
  if (!text.empty() && text[0] >= 'A' && text[0] <= 'Z' &&
      (text.size() < 2 || text[1] < 'A' || text[1] > 'Z')) {
    text[0] = static_cast<char>(text[0] - 'A' + 'a');
  }
  return text;
}

StatusOr<HttpAnswer> AskAt(const TopServer& server, const std::string& ip, const Request& request,
                           Clock& clock) {
  HttpClient client({.deadline = server.patience, .max_body_bytes = kMostAnswerBytes});
  const HttpClientTls no_options;
  if (server.address.tls) {
    PODGPU_RETURN_IF_ERROR(client.UseTls(server.access.tls ? &*server.access.tls : &no_options));
  }
  const TopAddress& address = server.address;
  HttpQuestion question;
  question.ip = ip;
  question.port = address.port;
  question.unix_path = address.unix_path;
  question.host = address.unix_path.empty() ? absl::StrFormat("%s:%d", address.host, address.port)
                                            : "localhost";
  question.path = address.base + request.path;
  question.certificate_name =
      server.access.server_name.empty() ? address.host : server.access.server_name;
  question.etag = request.etag;
  question.accept = request.accept;
  question.authorization = server.access.authorization;
  std::optional<StatusOr<HttpAnswer>> answer;
  client.Ask(std::move(question),
             [&answer](StatusOr<HttpAnswer> told) { answer = std::move(told); });
  const Instant deadline = clock.Now() + server.patience + std::chrono::seconds(1);
  while (!answer && clock.Now() < deadline) {
    client.Run(deadline);
  }
  if (!answer) {
    return absl::DeadlineExceededError("no answer in time");
  }
  if (answer->ok() && (*answer)->content_encoding == "gzip") {
    PODGPU_ASSIGN_OR_RETURN((*answer)->body, Inflate((*answer)->body, kMostAnswerBytes));
  }
  return *std::move(answer);
}

// Asks each address of a name until one accepts a connection.
StatusOr<HttpAnswer> AskAny(const TopServer& server, const Request& request, Clock& clock) {
  const TopAddress& address = server.address;
  std::vector<std::string> ips = {address.host};
  if (address.unix_path.empty() && !IsNumeric(address.host)) {
    PODGPU_ASSIGN_OR_RETURN(ips, ResolveBySystem(address.host));
  }
  StatusOr<HttpAnswer> answer = absl::UnavailableError("the name has no address");
  for (const std::string& ip : ips) {
    answer = AskAt(server, ip, request, clock);
    if (answer.ok() || !absl::IsUnavailable(answer.status())) {
      return answer;
    }
  }
  return answer;
}

// The sentence about a program that top cannot read; `program` as from ProgramOf.
std::string WrongProgram(const TopServer& server, const std::string& program) {
  const std::string_view wanted = server.is_fleet ? "cluster role" : "/api/v1";
  if (program.empty()) {
    return absl::StrFormat("that is another program; top needs podgpu's %s", wanted);
  }
  if (program == "podgpu") {
    return server.is_fleet ? "that is podgpu of one node; leave --fleet out"
                           : "that podgpu has no /api/v1/status: it is older than top";
  }
  if (program == "podgpu cluster") {
    return server.is_fleet ? "that cluster role has no /api/v1/fleet: it is older than top"
                           : "that is podgpu's cluster role; add --fleet";
  }
  return absl::StrFormat("that is %s; top needs podgpu's %s", program, wanted);
}

// Every program of interest tells its name in the title of its first page.
std::string WhatAnswers(const TopServer& server, Clock& clock) {
  const StatusOr<HttpAnswer> page = AskAny(server, {"/", "", "text/html"}, clock);
  return WrongProgram(server, page.ok() ? ProgramOf(page->body) : "");
}

// The server's own words for an error: "error" of a JSON object, or the first line of a text.
std::string WordsOf(std::string_view body) {
  constexpr size_t kLongest = 200;
  boost::system::error_code error;
  const boost::json::value root = boost::json::parse({body.data(), body.size()}, error);
  const boost::json::object* const object = error ? nullptr : root.if_object();
  const boost::json::value* const told = object == nullptr ? nullptr : object->if_contains("error");
  std::string words;
  if (told != nullptr && told->is_string()) {
    words = std::string(told->get_string().data(), told->get_string().size());
  } else if (body.find('<') == std::string_view::npos) {
    words = std::string(Trim(body.substr(0, body.find('\n'))));
  }
  return words.empty() ? "" : ": " + words.substr(0, kLongest);
}

Status FailureOf(const TopServer& server, const HttpAnswer& answer) {
  if (answer.status == kUnauthorized) {
    return absl::PermissionDeniedError(
        server.access.authorization.empty()
            ? "it asks for a password (401); --node-web-config gives one"
            : "it refuses the password or token (401)");
  }
  if (answer.status == kForbidden) {
    return absl::PermissionDeniedError("it forbids this (403)");
  }
  if (answer.status >= kFirstRedirect && answer.status < kFirstError) {
    return absl::FailedPreconditionError(absl::StrFormat(
        "it sends the reader to another URL (%d); give top that one", answer.status));
  }
  return absl::FailedPreconditionError(
      absl::StrFormat("it answers %d%s", answer.status, WordsOf(answer.body)));
}

}  // namespace

std::string ProgramOf(std::string_view page) {
  const size_t begin = page.find("<title>");
  const size_t end = page.find("</title>");
  if (begin == std::string_view::npos || end == std::string_view::npos || end < begin) {
    return "";
  }
  const size_t text = begin + std::string_view("<title>").size();
  const std::string_view title = Trim(page.substr(text, end - text));
  if (title == "GPU Exporter") {  // dcgm-exporter 4.5, internal/pkg/server/server.go.
    return "dcgm-exporter";
  }
  if (title.find("podgpu fleet") != std::string_view::npos) {
    return "podgpu cluster";
  }
  if (title.find("podgpu") != std::string_view::npos) {
    return "podgpu";
  }
  return Quoted(title);
}

StatusOr<HttpAnswer> FetchFrom(const TopServer& server, const std::string& path,
                               const std::string& etag, Clock& clock) {
  StatusOr<HttpAnswer> answer = AskAny(server, {path, etag}, clock);
  if (!answer.ok()) {
    return Status(answer.status().code(), ShortFailure(answer.status(), server.address.tls));
  }
  if (answer->status == kNotModified && !etag.empty()) {
    return answer;
  }
  if (answer->status == kOk) {
    // A proxy may answer with its own page.
    return Trim(answer->body).starts_with('{')
               ? std::move(answer)
               : absl::UnimplementedError(WrongProgram(server, ProgramOf(answer->body)));
  }
  const bool is_explanation = path.starts_with(kTopExplainPath);
  return answer->status == kMissing && !is_explanation
             ? absl::UnimplementedError(WhatAnswers(server, clock))
             : FailureOf(server, *answer);
}

bool HasAnswered(const Status& failure) {
  return !absl::IsUnavailable(failure) && !absl::IsDeadlineExceeded(failure);
}

StatusOr<NodeWebAccess> ReadTopAccess(const std::string& web_config, const std::string& ca_file,
                                      const TopAddress& address, const Files& files) {
  NodeWebAccess access;
  if (!web_config.empty()) {
    PODGPU_ASSIGN_OR_RETURN(access, ReadNodeWebConfig(web_config, files));
  }
  if (!ca_file.empty()) {
    const StatusOr<std::string> authorities = files.Read(ca_file);
    if (!authorities.ok()) {
      return absl::InvalidArgumentError(
          absl::StrFormat("--ca-file: %s", authorities.status().message()));
    }
    if (!access.tls) {
      access.tls.emplace();
    }
    access.tls->authorities = *authorities;
  }
  HttpClient probe{HttpClientOptions()};
  if (const Status status = access.tls ? probe.UseTls(&*access.tls) : absl::OkStatus();
      !status.ok()) {
    return absl::InvalidArgumentError(
        absl::StrFormat("%s: %s", ca_file.empty() ? web_config : ca_file, status.message()));
  }
  if (!access.authorization.empty() && !address.tls && address.unix_path.empty() &&
      !access.insecure_http && address.host != "localhost" && address.host != "127.0.0.1" &&
      address.host != "::1") {
    return absl::InvalidArgumentError(
        absl::StrFormat("%s: the password would cross the network without TLS. Write https://, or "
                        "set insecure_http: true",
                        web_config));
  }
  return access;
}

}  // namespace podgpu
