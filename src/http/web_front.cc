#include "http/web_front.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"

#include "base/files.h"
#include "base/log.h"

namespace podgpu {
namespace {

StatusOr<WebConfig> ReadConfig(const std::string& path) {
  const StatusOr<std::string> text = SystemFiles().Read(path);
  if (!text.ok()) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "web configuration %s. Correct --web-config-file", text.status().message()));
  }
  PODGPU_ASSIGN_OR_RETURN(WebConfig config, ParseWebConfig(*text, path));
  if (config.tls) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "%s: tls_server_config is not served yet. Remove it, or keep TLS in a proxy", path));
  }
  return config;
}

void LogNotes(const WebConfig& config, const std::string& path) {
  for (const std::string& note : config.notes) {
    Log(LogLevel::kInfo, "a part of the web configuration has no effect",
        {{"file", path}, {"what", note}});
  }
}

}  // namespace

StatusOr<std::unique_ptr<WebFront>> WebFront::Open(const std::string& path, HttpCounters& counters,
                                                   PasswordChecker::Poster post) {
  const FileStamp stamp = StampOf(path);
  PODGPU_ASSIGN_OR_RETURN(WebConfig config, ReadConfig(path));
  LogNotes(config, path);
  // Private constructor: make_unique cannot reach it.
  return std::unique_ptr<WebFront>(new WebFront(  // NOLINT(cppcoreguidelines-owning-memory)
      path, stamp, std::move(config), counters, std::move(post)));
}

WebFront::WebFront(std::string path, FileStamp stamp, WebConfig config, HttpCounters& counters,
                   PasswordChecker::Poster post)
    : path_(std::move(path)),
      stamp_(stamp),
      config_(std::move(config)),
      counters_(counters),
      limiter_(config_.rate_limit),
      checker_(std::move(post)) {}

void WebFront::Refresh() {
  const FileStamp stamp = StampOf(path_);
  if (stamp == stamp_) {
    return;
  }
  stamp_ = stamp;
  StatusOr<WebConfig> config = ReadConfig(path_);
  counters_.web_config_is_old = !config.ok();
  if (!config.ok()) {
    Log(LogLevel::kError,
        "the changed web configuration cannot be used; the old one stays in force",
        {{"why", std::string(config.status().message())}});
    return;
  }
  Log(LogLevel::kInfo, "the changed web configuration is in force", {{"file", path_}});
  LogNotes(*config, path_);
  config_ = *std::move(config);
  if (limiter_.limit() != config_.rate_limit) {
    limiter_ = RateLimiter(config_.rate_limit);
  }
}

void WebFront::Admit(std::string_view authorization, Instant now,
                     const std::function<void(int)>& decide) {
  Refresh();
  if (!limiter_.Allow(now)) {
    counters_.rate_limited++;
    return decide(429);
  }
  if (config_.users.empty()) {
    return decide(0);
  }
  CheckPassword(authorization, decide);
}

void WebFront::CheckPassword(std::string_view authorization,
                             const std::function<void(int)>& decide) {
  std::optional<Credentials> credentials = ReadBasicCredentials(authorization);
  const auto tell = [this, decide](bool is_right) {
    if (!is_right) {
      counters_.unauthorized++;
    }
    decide(is_right ? 0 : 401);
  };
  if (!credentials) {
    return tell(false);
  }
  if (const std::optional<bool> known = checker_.Known(config_.users, *credentials)) {
    return tell(*known);
  }
  if (!checker_.Check(config_.users, *std::move(credentials), tell)) {
    counters_.turned_away++;
    decide(503);
  }
}

void WebFront::AddHeaders(HttpResponse& response) const {
  for (const auto& [name, value] : config_.headers) {
    const auto is_same = [&](const auto& header) {
      return absl::EqualsIgnoreCase(header.first, name);
    };
    if (std::ranges::none_of(response.headers, is_same)) {
      response.headers.emplace_back(name, value);
    }
  }
}

}  // namespace podgpu
