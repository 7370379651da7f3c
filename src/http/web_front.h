// The checks before the handler when there is a web configuration: TLS, passwords, rate limit,
// headers.
//
// Each TLS connection and each request checks the stamps of the file and its certificates (one stat
// each) and reads them again after a change. A new password or certificate therefore works at once,
// without a restart. An invalid change has no effect: the last valid state stays, the log reports
// it once, and a counter shows it. At the start everything must be valid. Belongs to the server's
// thread; outlives the connections that use it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file_stamp.h"
#include "base/files.h"
#include "base/status.h"
#include "http/counters.h"
#include "http/password_checker.h"
#include "http/rate_limiter.h"
#include "http/server.h"
#include "http/tls_context.h"
#include "http/web_config.h"

namespace podgpu {

class WebFront {
 public:
  // `post` runs its argument on the server's thread; `counters` outlives the front.
  static StatusOr<std::unique_ptr<WebFront>> Open(const std::string& path,
                                                  std::shared_ptr<const Files> files,
                                                  HttpCounters& counters,
                                                  PasswordChecker::Poster post);

  // Checks that the configuration at `path` and all its files are valid; so is no path.
  static Status Check(const std::string& path, std::shared_ptr<const Files> files);

  // Returns the newest TLS context; null for plain HTTP.
  std::shared_ptr<const TlsContext> Tls();

  // Calls `decide` with the status of the refusal, or with 0 to serve the request: at once, or
  // after a password check, always on the server's thread.
  void Admit(std::string_view authorization, Instant now, const std::function<void(int)>& decide);

  // Adds the configured headers that `response` does not have.
  void AddHeaders(HttpResponse& response) const;

 private:
  // The result of one read.
  struct State {
    WebConfig config;
    std::shared_ptr<const TlsContext> tls;
  };
  using Stamps = std::vector<std::pair<std::string, FileStamp>>;

  WebFront(std::string path, std::shared_ptr<const Files> files, HttpCounters& counters,
           PasswordChecker::Poster post);

  StatusOr<State> Read();
  void Refresh();
  void Use(State state);
  void CheckPassword(std::string_view authorization, const std::function<void(int)>& decide);

  const std::string path_;
  const std::shared_ptr<const Files> files_;
  State state_;
  HttpCounters& counters_;
  Stamps stamps_;  // Stamps of all files that the last attempt tried to read.
  RateLimiter limiter_{RateLimit{}};
  PasswordChecker checker_;
};

}  // namespace podgpu
