// What stands before the handler when there is a web configuration: passwords, rate limit, headers.
//
// The file is looked at (one stat) whenever a client asks for something and read again when it has
// changed, so that a new password is in force at once and no restart is needed.  A changed file
// that cannot be used changes nothing: the last good one stays in force, the log says why once, and
// the counters tell.  At the start it must be good.  Belongs to the server's thread; outlives the
// connections that ask it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/file_stamp.h"
#include "base/status.h"
#include "http/counters.h"
#include "http/password_checker.h"
#include "http/rate_limiter.h"
#include "http/server.h"
#include "http/web_config.h"

namespace podgpu {

class WebFront {
 public:
  // `post` runs what it is given on the server's thread; `counters` outlives the front.
  static StatusOr<std::unique_ptr<WebFront>> Open(const std::string& path, HttpCounters& counters,
                                                  PasswordChecker::Poster post);

  // Tells `decide` the status to refuse a request with, or 0 to serve it: at once, or after a
  // password has been checked, always on the server's thread.
  void Admit(std::string_view authorization, Instant now, const std::function<void(int)>& decide);

  // The configured headers, where `response` has none of that name.
  void AddHeaders(HttpResponse& response) const;

 private:
  WebFront(std::string path, FileStamp stamp, WebConfig config, HttpCounters& counters,
           PasswordChecker::Poster post);

  void Refresh();
  void CheckPassword(std::string_view authorization, const std::function<void(int)>& decide);

  const std::string path_;
  FileStamp stamp_;
  WebConfig config_;
  HttpCounters& counters_;
  RateLimiter limiter_;
  PasswordChecker checker_;
};

}  // namespace podgpu
