// Finds out who calls, from certificate, headers and token; asks no other program.
//
// In this order: the front proxy, whose headers name the caller; a client certificate; a bearer
// token, which the API server must review (reviews.h); otherwise nothing is known of the caller.
// Headers that name a caller count only on a connection with a certificate of the front proxy. The
// results for certificates are kept for a minute, at most for 256 of them. One thread, the HTTP
// thread.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/clock.h"
#include "http/server.h"
#include "metrics_api/access/authentication_config.h"
#include "metrics_api/access/client_authorities.h"
#include "metrics_api/access/identity.h"

namespace podgpu {

// A config and the authorities in it. Immutable.
struct TrustedCallers {
  AuthenticationConfig config;
  std::shared_ptr<const ClientAuthorities> proxies, clients;
};
StatusOr<std::shared_ptr<const TrustedCallers>> MakeTrustedCallers(AuthenticationConfig config);

// The result for one request.
struct CallerClaim {
  enum class Kind : uint8_t {
    kKnown,           // `identity` calls.
    kToken,           // The API server must review `token`.
    kNothing,         // The caller shows nothing.
    kBadCertificate,  // It shows a certificate that counts for nothing, and no token.
  };
  Kind kind = Kind::kNothing;
  Identity identity{};
  std::string_view token{};  // Token of the request.
  std::string why{};         // Why the certificate does not count.
};

class Authenticator {
 public:
  // `trusted` is not null.
  CallerClaim Judge(const HttpRequest& request,
                    const std::shared_ptr<const TrustedCallers>& trusted, WallTime now);

 private:
  struct Verdicts {
    StatusOr<VerifiedName> proxy, client;
    int64_t until_s = 0;
  };
  const Verdicts& VerdictsOn(std::span<const std::string> certificates, int64_t now_s);

  std::shared_ptr<const TrustedCallers> trusted_;
  std::unordered_map<std::string, Verdicts> known_;  // Verdicts by the bytes of the certificates.
};

}  // namespace podgpu
