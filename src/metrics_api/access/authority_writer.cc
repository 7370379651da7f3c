#include "metrics_api/access/authority_writer.h"

#include <algorithm>

#include "absl/strings/str_format.h"

#include "base/log.h"
#include "kube/api_object.h"
#include "kube/api_refusal.h"
#include "metrics_api/access/ca_bundle.h"

namespace podgpu {
namespace {

constexpr std::chrono::seconds kBetweenChecks{60};
constexpr std::chrono::seconds kAfterFailure{5};
constexpr int kMostConflicts = 5;
constexpr size_t kMaxObjectBytes = size_t{2} << 20;
// A new certificate is made after two thirds of the life of the old one, and used at the latest
// after five sixths.
constexpr int64_t kRenewAfterS = kServingLifeS / 3 * 2;
constexpr int64_t kUseNextAfterS = kServingLifeS / 6 * 5;

constexpr std::string_view kStateNames[] = {"unknown", "ours",       "foreign",
                                            "missing", "unverified", "failed"};
static_assert(std::size(kStateNames) == kApiServiceStateCount);

std::string PathOfApiService(std::string_view object) {
  return absl::StrFormat("/apis/apiregistration.k8s.io/v1/apiservices/%s", object);
}

Status RefusedRequest(int status, std::string_view verb, std::string_view object,
                      const std::string& body) {
  const ApiFailure failure = ParseApiFailure(body);
  return StatusOfAnswer(
      status, absl::StrFormat("the API server answers %d to %s the APIService %s%s%s%s", status,
                              verb, object, failure.message.empty() ? "" : ": ",
                              failure.message.empty() ? "" : QuotedRefusal(failure.message),
                              status == 403 ? ". Grant get and patch of apiservices by a "
                                              "ClusterRole, or set --metrics-api-cert-file"
                                            : ""));
}

}  // namespace

std::string_view ApiServiceStateName(ApiServiceState state) {
  return kStateNames[static_cast<size_t>(state)];
}

bool AuthorityFacts::is_trusted() const {
  const auto is_usable = [](ApiServiceState state) {
    return state == ApiServiceState::kOurs || state == ApiServiceState::kUnverified;
  };
  return std::ranges::any_of(states, is_usable) &&
         std::ranges::none_of(states, [](ApiServiceState state) {
           return state == ApiServiceState::kUnknown || state == ApiServiceState::kFailed;
         });
}

AuthorityWriter::AuthorityWriter(MetricsService service, ApiServerOptions server, ServingPair pair,
                                 const Files& files, Clock& clock)
    : service_(std::move(service)),
      server_(std::move(server)),
      files_(files),
      clock_(clock),
      current_(std::move(pair)) {
  pair_.Set(std::make_shared<const ServingPair>(current_));
  facts_.Set(std::make_shared<const AuthorityFacts>());
}

int64_t AuthorityWriter::NowS() const { return ToMicroseconds(clock_.WallNow()) / 1'000'000; }

void AuthorityWriter::Run(const std::stop_token& stop) {
  Duration wait{};
  do {
    CheckOnce(stop);
    const bool has_failed = std::ranges::count(facts_.Get()->states, ApiServiceState::kFailed) > 0;
    wait = has_failed ? kAfterFailure : kBetweenChecks;
  } while (clock_.WaitUntil(clock_.Now() + wait, stop));
}

void AuthorityWriter::CheckOnce(const std::stop_token& stop) {
  const int64_t now_s = NowS();
  RenewIfDue(now_s);
  AuthorityFacts facts;
  for (size_t i = 0; i < kApiServices.size(); ++i) {
    Verdict verdict = Write(kApiServices[i], stop);
    if (stop.stop_requested()) {
      return;
    }
    facts.states[i] = verdict.state;
    facts.details[i] = std::move(verdict.detail);
  }
  const std::shared_ptr<const AuthorityFacts> before = facts_.Get();
  facts.was_trusted = (before->is_trusted() || before->was_trusted) &&
                      std::ranges::count(facts.states, ApiServiceState::kFailed) > 0;
  UseNextIfWritten(facts.is_trusted(), now_s);
  Tell(std::move(facts));
}

void AuthorityWriter::RenewIfDue(int64_t now_s) {
  if (next_ || now_s < current_.begins_s + kRenewAfterS) {
    return;
  }
  StatusOr<ServingPair> made = MakeServingPair(service_, now_s);
  if (made.ok()) {
    next_ = *std::move(made);
  } else {
    Log(LogLevel::kError, "the certificate of the metrics API cannot be renewed",
        {{"why", std::string(made.status().message())}});
  }
}

void AuthorityWriter::UseNextIfWritten(bool is_written, int64_t now_s) {
  if (!next_ || (!is_written && now_s < current_.begins_s + kUseNextAfterS)) {
    return;
  }
  current_ = *std::move(next_);
  next_.reset();
  pair_.Set(std::make_shared<const ServingPair>(current_));
  Log(LogLevel::kInfo, "the metrics API uses a new certificate",
      {{"expires_s", std::to_string(current_.expires_s)}});
}

AuthorityWriter::Verdict AuthorityWriter::Write(std::string_view object,
                                                const std::stop_token& stop) {
  for (int i = 0; i < kMostConflicts; ++i) {
    const StatusOr<std::optional<Verdict>> tried = TryWrite(object, stop);
    if (absl::IsNotFound(tried.status())) {
      return {
          ApiServiceState::kMissing,
          absl::StrFormat("there is no APIService %s; create it, with our Service in it", object)};
    }
    if (!tried.ok()) {
      return {ApiServiceState::kFailed, std::string(tried.status().message())};
    }
    if (const std::optional<Verdict>& verdict = *tried; verdict) {
      return *verdict;
    }
  }
  return {ApiServiceState::kFailed,
          absl::StrFormat("the APIService %s changed during each of %d attempts to write it",
                          object, kMostConflicts)};
}

StatusOr<std::optional<AuthorityWriter::Verdict>> AuthorityWriter::TryWrite(
    std::string_view object, const std::stop_token& stop) {
  PODGPU_ASSIGN_OR_RETURN(const std::unique_ptr<ApiConnection> connection,
                          ApiConnection::Open(server_, files_, stop));
  PODGPU_ASSIGN_OR_RETURN(const ApiHead head,
                          connection->Send({.target = PathOfApiService(object)}));
  PODGPU_ASSIGN_OR_RETURN(const std::string body,
                          connection->ReadAll(kMaxObjectBytes, server_.request_patience));
  if (head.status != 200) {
    return RefusedRequest(head.status, "get", object, body);
  }
  PODGPU_ASSIGN_OR_RETURN(const ApiServiceObject read, ReadApiService(body));
  if (read.service != service_) {
    return Verdict{
        ApiServiceState::kForeign,
        absl::StrFormat("the APIService %s belongs to %s; only one server can serve it: remove "
                        "that server, or use the other metrics API",
                        object,
                        read.service.name.empty()
                            ? "no Service"
                            : "the Service " + read.service.name + "." + read.service.name_space)};
  }
  if (read.skips_verification) {
    return Verdict{ApiServiceState::kUnverified,
                   absl::StrFormat("the APIService %s has insecureSkipTLSVerify: anyone on the "
                                   "network can answer in our place. Remove it",
                                   object)};
  }
  return Patch(*connection, object, read);
}

StatusOr<std::optional<AuthorityWriter::Verdict>> AuthorityWriter::Patch(
    ApiConnection& connection, std::string_view object, const ApiServiceObject& read) {
  std::vector<std::string> own = {current_.authority};
  if (next_) {
    own.push_back(next_->authority);
  }
  PODGPU_ASSIGN_OR_RETURN(const std::string merged,
                          MergeAuthorities(read.authorities, own, NowS()));
  if (merged == read.authorities) {
    return Verdict{ApiServiceState::kOurs, ""};
  }
  PODGPU_ASSIGN_OR_RETURN(
      const ApiHead head,
      connection.Send({.method = "PATCH",
                       .target = PathOfApiService(object),
                       .content_type = "application/merge-patch+json",
                       .body = AuthoritiesPatch(read.resource_version, merged)}));
  PODGPU_ASSIGN_OR_RETURN(const std::string body,
                          connection.ReadAll(kMaxObjectBytes, server_.request_patience));
  if (head.status == 409) {
    return std::optional<Verdict>();
  }
  if (head.status != 200) {
    return RefusedRequest(head.status, "patch", object, body);
  }
  Log(LogLevel::kInfo, "wrote the authority of the metrics API into the APIService",
      {{"apiservice", std::string(object)}});
  return Verdict{ApiServiceState::kOurs, ""};
}

void AuthorityWriter::Tell(AuthorityFacts facts) {
  const std::shared_ptr<const AuthorityFacts> before = facts_.Get();
  for (size_t i = 0; i < kApiServices.size(); ++i) {
    if (before->states[i] == facts.states[i] && before->details[i] == facts.details[i]) {
      continue;
    }
    Log(facts.states[i] == ApiServiceState::kOurs ? LogLevel::kInfo : LogLevel::kWarn,
        "the state of the APIService has changed",
        {{"apiservice", std::string(kApiServices[i])},
         {"state", std::string(ApiServiceStateName(facts.states[i]))},
         {"detail", facts.details[i]}});
  }
  facts_.Set(std::make_shared<const AuthorityFacts>(std::move(facts)));
}

}  // namespace podgpu
