// Owns the self-made certificate, renews it, and writes its authority into the APIService objects.
//
// An object is changed only if it names our Service; another owner is never replaced, and the facts
// say so. A patch carries the version of the object, so two replicas do not overwrite each other:
// after a conflict the object is read again. Objects are checked each minute. A new certificate is
// used when its authority is in every object that is ours, or shortly before the old one expires.
// Run is the body of one thread; the rest may be called from any thread.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/files.h"
#include "base/published.h"
#include "kube/api_connection.h"
#include "metrics_api/access/api_service.h"

namespace podgpu {

inline constexpr std::array<std::string_view, 2> kApiServices = {"v1beta1.external.metrics.k8s.io",
                                                                 "v1beta2.custom.metrics.k8s.io"};

// The state of an APIService object. The words are values of the label `state`.
enum class ApiServiceState : uint8_t {
  kUnknown,     // Not read yet.
  kOurs,        // It names our Service and has our authority.
  kForeign,     // It names another Service.
  kMissing,     // There is no such object.
  kUnverified,  // It names our Service and switches verification off: nothing to write.
  kFailed,      // It could not be read or written; the detail says why.
};
inline constexpr size_t kApiServiceStateCount = 6;
std::string_view ApiServiceStateName(ApiServiceState state);

struct AuthorityFacts {
  std::array<ApiServiceState, kApiServices.size()> states{};
  std::array<std::string, kApiServices.size()> details{};  // One sentence with the remedy.
  // The objects had the authority when they could last be read; they cannot be read now.
  bool was_trusted = false;
  // At least one object is ours, and none of ours lacks the authority in use.
  bool is_trusted() const;
};

class AuthorityWriter {
 public:
  // All borrowed objects outlive it. `pair` is in use until the first renewal.
  AuthorityWriter(MetricsService service, ApiServerOptions server, ServingPair pair,
                  const Files& files, Clock& clock);

  void Run(const std::stop_token& stop);
  // Checks both objects once; renews the certificate if that is due.
  void CheckOnce(const std::stop_token& stop);

  const Published<ServingPair>& pair() const { return pair_; }
  const Published<AuthorityFacts>& facts() const { return facts_; }

 private:
  struct Verdict {
    ApiServiceState state = ApiServiceState::kUnknown;
    std::string detail;
  };
  void RenewIfDue(int64_t now_s);
  void UseNextIfWritten(bool is_written, int64_t now_s);
  Verdict Write(std::string_view object, const std::stop_token& stop);
  // Nothing: the object has changed meanwhile.
  StatusOr<std::optional<Verdict>> TryWrite(std::string_view object, const std::stop_token& stop);
  StatusOr<std::optional<Verdict>> Patch(ApiConnection& connection, std::string_view object,
                                         const ApiServiceObject& read);
  void Tell(AuthorityFacts facts);
  int64_t NowS() const;

  const MetricsService service_;
  const ApiServerOptions server_;
  const Files& files_;
  Clock& clock_;
  ServingPair current_;
  std::optional<ServingPair> next_;  // The pair that was made and is not in use yet.
  Published<ServingPair> pair_;
  Published<AuthorityFacts> facts_;
};

}  // namespace podgpu
