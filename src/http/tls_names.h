// The TLS names in a web configuration, as in Go, and their OpenSSL equivalents.
//
// A configuration for Prometheus' exporter-toolkit names protocol versions, cipher suites, curves
// and client policies by the identifiers of Go's crypto/tls. These tables translate them; an
// unknown name has no row. Constant tables; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace podgpu {

// Whether a client must send a certificate, and whether the server verifies it.
enum class ClientAuth : uint8_t {
  kNone,
  kRequest,           // Requested, optional, not verified.
  kRequireAny,        // Required, not verified.
  kVerifyIfGiven,     // Optional; verified if sent.
  kRequireAndVerify,  // Required and verified.
};

// A name and its meaning: for a version, the number in the protocol.
struct TlsVersionName {
  std::string_view name;
  uint16_t version;
};
struct TlsSuiteName {
  std::string_view name;
  std::string_view openssl;  // Empty: a suite of TLS 1.3, which is always enabled, as in Go.
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
// Returns the suites in Go's order of preference, best first.
std::span<const TlsSuiteName> TlsSuiteNames();
std::span<const TlsCurveName> TlsCurveNames();
std::span<const ClientAuthName> ClientAuthNames();

}  // namespace podgpu
