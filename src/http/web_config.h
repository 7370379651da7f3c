// The web configuration: TLS, passwords, headers and a rate limit, from the YAML file that all
// Prometheus exporters share (exporter-toolkit's --web.config.file).
//
// Strict, as the toolkit is: a key that is not known, a key twice, or a value that is not allowed
// refuses the whole file, with one line that names file, line, key and remedy.  Secrets (hashes,
// keys) are never quoted.  Nothing is opened here: PEM files are only named, relative to the
// configuration's own folder.  Pure function; any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "http/tls_names.h"

namespace podgpu {

// Certificates or a key in PEM: in a file, or written into the configuration.
struct PemSource {
  std::string file;  // Where both are given, the file is meant.
  std::string text;
  bool is_given() const { return !file.empty() || !text.empty(); }
  bool operator==(const PemSource&) const = default;
};

struct TlsSettings {
  PemSource certificate;
  PemSource key;
  PemSource client_ca;
  ClientAuth client_auth = ClientAuth::kNone;
  std::vector<std::string> client_allowed_sans;
  uint16_t min_version = 0x0303;  // On the wire: TLS 1.2.
  uint16_t max_version = 0x0304;
  std::vector<std::string_view> cipher_suites;  // Rows of TlsSuiteNames(); empty: the default.
  std::vector<std::string_view> curves;         // Rows of TlsCurveNames(); empty: the default.
  bool prefer_server_cipher_suites = true;
  bool operator==(const TlsSettings&) const = default;
};

// At most `burst` requests at once and one per `interval` on average; 0: as many as come.
struct RateLimit {
  std::chrono::nanoseconds interval{0};
  int64_t burst = 0;
  bool operator==(const RateLimit&) const = default;
};

struct WebConfig {
  std::optional<TlsSettings> tls;                            // Nothing: plain HTTP.
  std::vector<std::pair<std::string, std::string>> headers;  // For every response.
  std::map<std::string, std::string, std::less<>> users;     // Name to bcrypt hash.
  RateLimit rate_limit;
  std::vector<std::string> notes;  // What is accepted and has no effect, a line each.
};

// `path` is the file's own, for messages and as the base of relative paths in it.
StatusOr<WebConfig> ParseWebConfig(std::string_view text, const std::string& path);

// Whether `hash` is what bcrypt makes: $2a$, $2b$ or $2y$, cost, salt and sum.
bool IsBcryptHash(std::string_view hash);

// The two digits behind $2y$: each check takes 2^cost rounds.  Of a hash that IsBcryptHash allows.
int BcryptCost(std::string_view hash);

// The costliest hash that is accepted: some 2 s a check.  Beyond it no scraper waits.
inline constexpr int kHighestBcryptCost = 15;

}  // namespace podgpu
