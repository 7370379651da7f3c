// The web configuration: TLS, passwords, headers and a rate limit, from the YAML file of Prometheus
// exporters (exporter-toolkit's --web.config.file).
//
// As strict as the toolkit: an unknown key, a duplicate key, or an invalid value refuses the whole
// file, with one line that names file, line, key and remedy. Messages never quote secrets (hashes,
// keys). The parser opens no files: it returns the paths of PEM files, relative to the
// configuration's folder. Pure function; any thread.
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

// PEM certificates or a PEM key: in a file, or in the configuration itself.
struct PemSource {
  std::string file;  // Takes precedence over `text`.
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
  uint16_t min_version = 0x0303;  // Protocol number: TLS 1.2.
  uint16_t max_version = 0x0304;
  std::vector<std::string_view> cipher_suites;  // Rows of TlsSuiteNames(); empty: the default.
  std::vector<std::string_view> curves;         // Rows of TlsCurveNames(); empty: the default.
  bool prefer_server_cipher_suites = true;
  bool operator==(const TlsSettings&) const = default;
};

// Allows at most `burst` requests at once and one per `interval` on average; 0: no limit.
struct RateLimit {
  std::chrono::nanoseconds interval{0};
  int64_t burst = 0;
  bool operator==(const RateLimit&) const = default;
};

struct WebConfig {
  std::optional<TlsSettings> tls;                            // Absent: plain HTTP.
  std::vector<std::pair<std::string, std::string>> headers;  // Headers of every response.
  std::map<std::string, std::string, std::less<>> users;     // Bcrypt hash by user name.
  RateLimit rate_limit;
  std::vector<std::string> notes;  // One line per accepted setting without effect.
};

// `path` is the path of the file, for messages and as the base of relative paths in it.
StatusOr<WebConfig> ParseWebConfig(std::string_view text, const std::string& path);

// Returns whether `hash` is a bcrypt hash: $2a$, $2b$ or $2y$, cost, salt and sum.
bool IsBcryptHash(std::string_view hash);

// Returns the two digits after $2y$: each check takes 2^cost rounds. `hash` must satisfy
// IsBcryptHash.
int BcryptCost(std::string_view hash);

// The highest accepted cost: about 2 s per check. Scrapers do not wait longer.
inline constexpr int kHighestBcryptCost = 15;

}  // namespace podgpu
