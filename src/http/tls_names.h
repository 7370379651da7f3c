// The words of a web configuration that name parts of TLS, as Go spells them, and what they are for
// OpenSSL.
//
// A configuration that was written for Prometheus' exporter-toolkit names protocol versions, cipher
// suites, curves and client policies by the identifiers of Go's crypto/tls.  Here each becomes what
// our library understands, or nothing when it is not known.  Constant tables; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace podgpu {

// When a client must show a certificate, and whether that is checked.
enum class ClientAuth : uint8_t {
  kNone,
  kRequest,           // Asked for, not needed, not checked.
  kRequireAny,        // Needed, not checked.
  kVerifyIfGiven,     // Not needed; checked if there is one.
  kRequireAndVerify,  // Needed and checked.
};

// One word and its meaning.  Of a version, the number on the wire.
struct TlsVersionName {
  std::string_view name;
  uint16_t version;
};
struct TlsSuiteName {
  std::string_view name;
  std::string_view openssl;  // Empty: of TLS 1.3, where every suite is always on, as in Go.
};
struct TlsCurveName {
  std::string_view name;
  std::string_view openssl;
};
struct ClientAuthName {
  std::string_view name;
  ClientAuth auth;
};

std::span<const TlsVersionName> TlsVersionNames();
// The best first, in Go's order of preference.
std::span<const TlsSuiteName> TlsSuiteNames();
std::span<const TlsCurveName> TlsCurveNames();
std::span<const ClientAuthName> ClientAuthNames();

// The row of `table` that is called `name`, or null.
template <typename Row>
const Row* FindName(std::span<const Row> table, std::string_view name) {
  for (const Row& row : table) {
    if (row.name == name) {
      return &row;
    }
  }
  return nullptr;
}

}  // namespace podgpu
