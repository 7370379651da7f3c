#include "metrics_api/access/authenticator.h"

#include <algorithm>

#include "absl/strings/str_format.h"

#include "base/percent.h"
#include "base/text.h"
#include "http/ignore_case.h"

namespace podgpu {
namespace {

constexpr size_t kMostKnownCertificates = 256;
constexpr int64_t kVerdictCountsS = 60;
constexpr size_t kMostGroups = 1'024;

// The value of the first of these headers that is there and not empty.
std::string FirstHeader(const HttpRequest& request, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    for (const auto& [header, value] : request.headers) {
      if (AreEqualIgnoringCase(header, name) && !value.empty()) {
        return std::string(value);
      }
    }
  }
  return {};
}

std::string LowerCase(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return lower;
}

bool StartsIgnoringCase(std::string_view text, std::string_view start) {
  return text.size() > start.size() && AreEqualIgnoringCase(text.substr(0, start.size()), start);
}

// The caller that the front proxy names; nothing if it names none.
std::optional<Identity> NamedByProxy(const HttpRequest& request,
                                     const AuthenticationConfig& config) {
  Identity identity;
  identity.user = FirstHeader(request, config.user_headers);
  if (identity.user.empty()) {
    return std::nullopt;
  }
  identity.uid = FirstHeader(request, config.uid_headers);
  for (const auto& [header, value] : request.headers) {
    const auto is_it = [&name = header](const std::string& one) {
      return AreEqualIgnoringCase(name, one);
    };
    if (std::ranges::any_of(config.group_headers, is_it) && !value.empty() &&
        identity.groups.size() < kMostGroups) {
      identity.groups.emplace_back(value);
    }
    for (const std::string& prefix : config.extra_prefixes) {
      if (StartsIgnoringCase(header, prefix)) {
        const std::string key = PercentDecode(LowerCase(header.substr(prefix.size())));
        identity.extra[key].emplace_back(value);
        break;
      }
    }
  }
  return identity;
}

// Adds the group of known callers, as the API server does with every caller that it knows.
CallerClaim KnownAs(Identity identity) {
  constexpr std::string_view kAuthenticated = "system:authenticated";
  if (identity.user != kAnonymous && std::ranges::count(identity.groups, kAuthenticated) == 0) {
    identity.groups.emplace_back(kAuthenticated);
  }
  return {.kind = CallerClaim::Kind::kKnown, .identity = std::move(identity)};
}

// Returns the token of "Bearer TOKEN", with the scheme in any case; empty for another scheme.
std::string_view BearerToken(std::string_view authorization) {
  constexpr std::string_view kScheme = "bearer ";
  return StartsIgnoringCase(authorization, kScheme) ? Trim(authorization.substr(kScheme.size()))
                                                    : std::string_view();
}

}  // namespace

StatusOr<std::shared_ptr<const TrustedCallers>> MakeTrustedCallers(AuthenticationConfig config) {
  auto trusted = std::make_shared<TrustedCallers>();
  PODGPU_ASSIGN_OR_RETURN(trusted->proxies, ClientAuthorities::Make(config.proxy_authorities));
  PODGPU_ASSIGN_OR_RETURN(trusted->clients, ClientAuthorities::Make(config.client_authorities));
  trusted->config = std::move(config);
  return trusted;
}

const Authenticator::Verdicts& Authenticator::VerdictsOn(std::span<const std::string> certificates,
                                                         int64_t now_s) {
  std::string key;
  for (const std::string& certificate : certificates) {
    absl::StrAppendFormat(&key, "%d:%s", certificate.size(), certificate);
  }
  if (const auto known = known_.find(key); known != known_.end()) {
    if (now_s < known->second.until_s) {
      return known->second;
    }
    known_.erase(known);
  }
  if (known_.size() >= kMostKnownCertificates) {
    known_.clear();
  }
  Verdicts verdicts{trusted_->proxies->Verify(certificates, now_s),
                    trusted_->clients->Verify(certificates, now_s), now_s + kVerdictCountsS};
  for (const StatusOr<VerifiedName>* name : {&verdicts.proxy, &verdicts.client}) {
    if (name->ok()) {
      verdicts.until_s = std::min(verdicts.until_s, (*name)->expires_s);
    }
  }
  return known_.insert_or_assign(std::move(key), std::move(verdicts)).first->second;
}

CallerClaim Authenticator::Judge(const HttpRequest& request,
                                 const std::shared_ptr<const TrustedCallers>& trusted,
                                 WallTime now) {
  if (trusted != trusted_) {
    trusted_ = trusted;
    known_.clear();
  }
  std::string why;
  if (!request.certificates.empty()) {
    const int64_t now_s = ToMicroseconds(now) / 1'000'000;
    const Verdicts& verdicts = VerdictsOn(request.certificates, now_s);
    const std::vector<std::string>& allowed = trusted_->config.allowed_names;
    const bool is_proxy =
        verdicts.proxy.ok() &&
        (allowed.empty() || std::ranges::count(allowed, verdicts.proxy->common_name) > 0);
    if (is_proxy) {
      if (std::optional<Identity> named = NamedByProxy(request, trusted_->config)) {
        return KnownAs(*std::move(named));
      }
      why = "it is the front proxy's, but the request names no user";
    } else if (verdicts.proxy.ok()) {
      why = absl::StrFormat("its name %s is not in requestheader-allowed-names",
                            Quoted(verdicts.proxy->common_name));
    }
    if (verdicts.client.ok() && !verdicts.client->common_name.empty()) {
      return KnownAs({.user = verdicts.client->common_name,
                      .uid = {},
                      .groups = verdicts.client->organizations,
                      .extra = {}});
    }
    if (why.empty()) {
      const Status& proxy = verdicts.proxy.status();
      why = std::string((absl::IsNotFound(proxy) ? verdicts.client.status() : proxy).message());
    }
  }
  if (const std::string_view token = BearerToken(request.authorization); !token.empty()) {
    return {.kind = CallerClaim::Kind::kToken, .token = token};
  }
  return {.kind = request.certificates.empty() ? CallerClaim::Kind::kNothing
                                               : CallerClaim::Kind::kBadCertificate,
          .why = std::move(why)};
}

}  // namespace podgpu
