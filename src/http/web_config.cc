#include "http/web_config.h"

#include <algorithm>
#include <array>
#include <span>

#include "absl/strings/str_format.h"

#include "base/go_values.h"
#include "base/text.h"
#include "yaml/yaml_reading.h"

namespace podgpu {
namespace {

using Entry = YamlEntry;
using WebKey = YamlKey<WebConfig>;

void ReadKeys(const Entry& section, std::span<const WebKey> table, WebConfig& config) {
  ReadYamlKeys(section, table, config);
}

TlsSettings& Tls(WebConfig& config) { return config.tls ? *config.tls : config.tls.emplace(); }

template <PemSource TlsSettings::*source>
void ReadPem(const Entry& entry, WebConfig& config) {
  (Tls(config).*source).text = entry.Text();
}

template <PemSource TlsSettings::*source>
void ReadPemFile(const Entry& entry, WebConfig& config) {
  (Tls(config).*source).file = entry.reading.Resolve(entry.Text());
}

template <uint16_t TlsSettings::*version>
void ReadVersion(const Entry& entry, WebConfig& config) {
  if (const TlsVersionName* row = entry.OneOf(TlsVersionNames())) {
    Tls(config).*version = row->version;
  }
}

void ReadClientAuth(const Entry& entry, WebConfig& config) {
  if (entry.Text().empty()) {
    return;
  }
  if (const ClientAuthName* row = entry.OneOf(ClientAuthNames())) {
    Tls(config).client_auth = row->auth;
  }
}

template <std::vector<std::string_view> TlsSettings::*names, auto table>
void ReadNames(const Entry& entry, WebConfig& config) {
  for (const Entry& item : entry.List()) {
    if (const auto* row = item.OneOf(table())) {
      (Tls(config).*names).push_back(row->name);
    }
  }
}

void ReadSans(const Entry& entry, WebConfig& config) {
  for (const Entry& item : entry.List()) {
    Tls(config).client_allowed_sans.push_back(item.Text());
  }
}

constexpr std::string_view kTlsSection = "tls_server_config";
constexpr WebKey kTlsKeys[] = {
    {"cert", ReadPem<&TlsSettings::certificate>},
    {"cert_file", ReadPemFile<&TlsSettings::certificate>},
    {"cipher_suites", ReadNames<&TlsSettings::cipher_suites, TlsSuiteNames>},
    {"client_allowed_sans", ReadSans},
    {"client_auth_type", ReadClientAuth},
    {"client_ca", ReadPem<&TlsSettings::client_ca>},
    {"client_ca_file", ReadPemFile<&TlsSettings::client_ca>},
    {"curve_preferences", ReadNames<&TlsSettings::curves, TlsCurveNames>},
    {"key", ReadPem<&TlsSettings::key>},
    {"key_file", ReadPemFile<&TlsSettings::key>},
    {"max_version", ReadVersion<&TlsSettings::max_version>},
    {"min_version", ReadVersion<&TlsSettings::min_version>},
    {"prefer_server_cipher_suites",
     [](const Entry& entry, WebConfig& config) {
       Tls(config).prefer_server_cipher_suites = entry.Bool();
     }},
};

// Checks rules between the keys of the section.
void CheckTls(const Entry& section, WebConfig& config) {
  const TlsSettings& tls = Tls(config);
  const bool verifies = tls.client_auth == ClientAuth::kRequireAny ||
                        tls.client_auth == ClientAuth::kRequireAndVerify;
  if (!tls.certificate.is_given() && !tls.key.is_given() && !tls.client_ca.is_given() &&
      tls.client_auth == ClientAuth::kNone) {
    config.notes.push_back(absl::StrFormat(
        "%s names no certificate: plain HTTP is served, as other exporters do", section.key));
    config.tls.reset();
  } else if (!tls.certificate.is_given()) {
    section.Refuse("has no certificate. Add cert_file, or cert with the PEM text");
  } else if (!tls.key.is_given()) {
    section.Refuse("has no key. Add key_file, or key with the PEM text");
  } else if (tls.client_ca.is_given() && tls.client_auth == ClientAuth::kNone) {
    section.Refuse(
        "has a client CA but requests no client certificate. Add client_auth_type: "
        "RequireAndVerifyClientCert");
  } else if (!tls.client_allowed_sans.empty() && !verifies) {
    section.Refuse(
        "has client_allowed_sans but requires no certificate. Add client_auth_type: "
        "RequireAndVerifyClientCert");
  } else if (tls.min_version > tls.max_version) {
    section.Refuse("has a min_version above its max_version. Exchange them");
  }
}

void ReadTls(const Entry& entry, WebConfig& config) {
  ReadKeys(entry, kTlsKeys, config);
  if (config.tls) {
    CheckTls(entry, config);
  }
}

// The headers that the toolkit allows, and their allowed values if there are only a few.
struct AllowedHeader {
  std::string_view name;
  std::array<std::string_view, 2> values;
};
constexpr AllowedHeader kAllowedHeaders[] = {
    {"Content-Security-Policy", {}},
    {"Strict-Transport-Security", {}},
    {"X-Content-Type-Options", {"nosniff", "nosniff"}},
    {"X-Frame-Options", {"deny", "sameorigin"}},
    {"X-XSS-Protection", {}},
};

void ReadHeaders(const Entry& entry, WebConfig& config) {
  for (const Entry& header : entry.Map()) {
    const AllowedHeader* allowed =
        FindName(std::span<const AllowedHeader>(kAllowedHeaders), header.key);
    const std::string value = header.Text();
    if (allowed == nullptr) {
      header.reading.Refuse(
          header.value.line, entry.key,
          absl::StrFormat("%s may not be set. Allowed are Content-Security-Policy, "
                          "Strict-Transport-Security, X-Content-Type-Options, X-Frame-Options and "
                          "X-XSS-Protection",
                          Quoted(header.key)));
    } else if (!allowed->values[0].empty() && std::ranges::count(allowed->values, value) == 0) {
      header.reading.Refuse(
          header.value.line, absl::StrFormat("%s.%s", entry.key, header.key),
          absl::StrFormat("%s is not allowed. Write %s%s", Quoted(value), allowed->values[0],
                          allowed->values[0] == allowed->values[1]
                              ? ""
                              : absl::StrFormat(" or %s", allowed->values[1])));
    } else if (!value.empty()) {
      config.headers.emplace_back(header.key, value);
    }
  }
}

constexpr WebKey kHttpKeys[] = {
    {"headers", ReadHeaders},
    {"http2",
     [](const Entry& entry, WebConfig& config) {
       if (entry.Bool()) {
         config.notes.push_back(absl::StrFormat(
             "%s has no effect: the server uses HTTP/1.1, which every scraper supports",
             entry.key));
       }
     }},
};

void ReadUsers(const Entry& entry, WebConfig& config) {
  for (const Entry& user : entry.Map()) {
    const std::string hash = user.Text();
    const auto refuse = [&](std::string_view why) {
      user.reading.Refuse(
          user.value.line, entry.key,
          absl::StrFormat("the value for %s %s. Make a hash with htpasswd -nBC 10 NAME",
                          Quoted(user.key), why));
    };
    if (!IsBcryptHash(hash)) {
      refuse("is not a bcrypt hash");
    } else if (BcryptCost(hash) > kHighestBcryptCost) {
      refuse(absl::StrFormat("has cost %d; above %d a check takes longer than scrapers wait",
                             BcryptCost(hash), kHighestBcryptCost));
    }
    config.users.emplace(user.key, hash);
  }
}

constexpr WebKey kRateKeys[] = {
    {"burst",
     [](const Entry& entry, WebConfig& config) {
       const std::optional<int64_t> burst = ParseGoInt(entry.Text());
       if (!burst || *burst < 0) {
         entry.Refuse("must be a whole number of requests. Write 20, for example");
       }
       config.rate_limit.burst = burst.value_or(0);
     }},
    {"interval",
     [](const Entry& entry, WebConfig& config) {
       const std::optional<std::chrono::nanoseconds> interval = ParseGoDuration(entry.Text());
       if (!interval || *interval < std::chrono::nanoseconds(0)) {
         entry.Refuse("must be a duration. Write 1s or 200ms, for example");
       }
       config.rate_limit.interval = interval.value_or(std::chrono::nanoseconds(0));
     }},
};

void ReadRateLimit(const Entry& entry, WebConfig& config) {
  ReadKeys(entry, kRateKeys, config);
  if (config.rate_limit.interval > std::chrono::nanoseconds(0) && config.rate_limit.burst == 0) {
    entry.Refuse("has no burst, so every request would be refused. Add burst: 20");
  }
}

constexpr WebKey kTopKeys[] = {
    {"basic_auth_users", ReadUsers},
    {"http_server_config",
     [](const Entry& entry, WebConfig& config) { ReadKeys(entry, kHttpKeys, config); }},
    {"rate_limit", ReadRateLimit},
    {kTlsSection, ReadTls},
};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

bool IsBcryptHash(std::string_view hash) {
  constexpr size_t kLength = 60;  // "$2y$10$", 22 of salt, 31 of sum.
  constexpr size_t kSaltStart = 7;
  const auto is_symbol = [](char c) {
    return IsDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.' || c == '/';
  };
  return hash.size() == kLength &&
         (hash.starts_with("$2a$") || hash.starts_with("$2b$") || hash.starts_with("$2y$")) &&
         IsDigit(hash[4]) && IsDigit(hash[5]) && hash[6] == '$' && BcryptCost(hash) >= 4 &&
         BcryptCost(hash) <= 31 && std::ranges::all_of(hash.substr(kSaltStart), is_symbol);
}

int BcryptCost(std::string_view hash) { return (hash[4] - '0') * 10 + (hash[5] - '0'); }

StatusOr<WebConfig> ParseWebConfig(std::string_view text, const std::string& path) {
  YamlReading reading(path);
  const YamlNode tree = reading.Parse(text);
  WebConfig config;
  ReadKeys({reading, tree, ""}, kTopKeys, config);
  if (!reading.status().ok()) {
    return reading.status();
  }
  return config;
}

}  // namespace podgpu
