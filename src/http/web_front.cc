#include "http/web_front.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"

#include "base/files.h"
#include "base/log.h"

namespace podgpu {
namespace {

void LogNotes(const WebConfig& config, const std::string& path) {
  for (const std::string& note : config.notes) {
    Log(LogLevel::kInfo, "web configuration entry has no effect", {{"file", path}, {"what", note}});
  }
}

}  // namespace

StatusOr<std::unique_ptr<WebFront>> WebFront::Open(const std::string& path,
                                                   std::shared_ptr<const Files> files,
                                                   HttpCounters& counters,
                                                   PasswordChecker::Poster post) {
  // Private constructor: make_unique cannot reach it.
  std::unique_ptr<WebFront> front(
      new WebFront(path, std::move(files), counters,
                   std::move(post)));  // NOLINT(cppcoreguidelines-owning-memory)
  PODGPU_ASSIGN_OR_RETURN(State state, front->Read());
  front->Use(std::move(state));
  return front;
}

Status WebFront::Check(const std::string& path, std::shared_ptr<const Files> files) {
  if (path.empty()) {
    return absl::OkStatus();
  }
  HttpCounters unused;
  return Open(path, std::move(files), unused, [](const std::function<void()>& /*work*/) {})
      .status();
}

WebFront::WebFront(std::string path, std::shared_ptr<const Files> files, HttpCounters& counters,
                   PasswordChecker::Poster post)
    : path_(std::move(path)),
      files_(std::move(files)),
      counters_(counters),
      checker_(std::move(post)) {}

// Each file's stamp is taken before the file is read: a change during the read is noticed next
// time.
StatusOr<WebFront::State> WebFront::Read() {
  stamps_ = {{path_, StampOf(path_)}};
  const StatusOr<std::string> text = files_->Read(path_);
  if (!text.ok()) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "web configuration %s. Correct --web-config-file", text.status().message()));
  }
  State state;
  PODGPU_ASSIGN_OR_RETURN(state.config, ParseWebConfig(*text, path_));
  if (const std::optional<TlsSettings>& tls = state.config.tls) {
    for (const PemSource* source : {&tls->certificate, &tls->key, &tls->client_ca}) {
      if (!source->file.empty()) {
        stamps_.emplace_back(source->file, StampOf(source->file));
      }
    }
    PODGPU_ASSIGN_OR_RETURN(state.tls, TlsContext::Make(*tls, path_, *files_));
  }
  return state;
}

void WebFront::Refresh() {
  const auto is_same = [](const auto& file) { return StampOf(file.first) == file.second; };
  if (std::ranges::all_of(stamps_, is_same)) {
    return;
  }
  StatusOr<State> state = Read();
  counters_.web_config_is_old = !state.ok();
  if (!state.ok()) {
    Log(LogLevel::kError, "the changed web configuration is invalid; using the previous one",
        {{"why", std::string(state.status().message())}});
    return;
  }
  Log(LogLevel::kInfo, "using the changed web configuration", {{"file", path_}});
  Use(*std::move(state));
}

void WebFront::Use(State state) {
  LogNotes(state.config, path_);
  state_ = std::move(state);
  counters_.certificate_expires_s = state_.tls != nullptr ? state_.tls->certificate_expires_s() : 0;
  if (limiter_.limit() != state_.config.rate_limit) {
    limiter_ = RateLimiter(state_.config.rate_limit);
  }
}

std::shared_ptr<const TlsContext> WebFront::Tls() {
  Refresh();
  return state_.tls;
}

void WebFront::Admit(std::string_view authorization, Instant now,
                     const std::function<void(int)>& decide) {
  Refresh();
  if (!limiter_.Allow(now)) {
    counters_.rate_limited++;
    return decide(429);
  }
  if (state_.config.users.empty()) {
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
  if (const std::optional<bool> known = checker_.Known(state_.config.users, *credentials)) {
    return tell(*known);
  }
  if (!checker_.Check(state_.config.users, *std::move(credentials), tell)) {
    counters_.turned_away++;
    decide(503);
  }
}

void WebFront::AddHeaders(HttpResponse& response) const {
  for (const auto& [name, value] : state_.config.headers) {
    const auto is_same = [&](const auto& header) {
      return absl::EqualsIgnoreCase(header.first, name);
    };
    if (std::ranges::none_of(response.headers, is_same)) {
      response.headers.emplace_back(name, value);
    }
  }
}

}  // namespace podgpu
