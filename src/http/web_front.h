// What stands before the handler when there is a web configuration: TLS, passwords, rate limit,
// headers.
//
// The file and the certificates that it names are looked at (a stat each) whenever a client
// connects with TLS or asks for something, and read again when one has changed, so that a new
// password or certificate is in force at once and no restart is needed.  What cannot be used
// changes nothing: the last good state stays in force, the log says why once, and the counters
// tell.  At the start all must be good.  Belongs to the server's thread; outlives the
// connections that ask it.
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
  // `post` runs what it is given on the server's thread; `counters` outlives the front.
  static StatusOr<std::unique_ptr<WebFront>> Open(const std::string& path,
                                                  std::shared_ptr<const Files> files,
                                                  HttpCounters& counters,
                                                  PasswordChecker::Poster post);

  // Whether the configuration at `path` and all that it names can be used.
  static Status Check(const std::string& path, std::shared_ptr<const Files> files);

  // The newest TLS context; null where plain HTTP is served.
  std::shared_ptr<const TlsContext> Tls();

  // Tells `decide` the status to refuse a request with, or 0 to serve it: at once, or after a
  // password has been checked, always on the server's thread.
  void Admit(std::string_view authorization, Instant now, const std::function<void(int)>& decide);

  // The configured headers, where `response` has none of that name.
  void AddHeaders(HttpResponse& response) const;

 private:
  // All that was read at one time, and what tells whether it has changed since.
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
  Stamps stamps_;  // Of all files that the last attempt to read has met.
  RateLimiter limiter_{RateLimit{}};
  PasswordChecker checker_;
};

}  // namespace podgpu
