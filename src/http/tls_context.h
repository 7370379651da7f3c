// The server's TLS: a configuration and its certificates, ready for handshakes.
//
// Rebuilt when the configuration or one of its files changes; existing connections keep their
// context. A session never outlives its connection, so a replaced certificate or client authority
// cannot come back through resumption. Immutable; made and used by the server's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"
#include "base/status.h"
#include "http/web_config.h"

struct ssl_ctx_st;
struct ssl_st;

namespace podgpu {

class TlsContext {
 public:
  // `config_path` is the file of the settings. Invalid settings give kInvalidArgument with one line
  // that names file, key and remedy.
  static StatusOr<std::shared_ptr<const TlsContext>> Make(const TlsSettings& settings,
                                                          const std::string& config_path,
                                                          const Files& files);

  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;
  ~TlsContext() = default;

  // Returns the server's session for a new connection; the caller owns it. The context outlives it.
  ssl_st* NewSession() const;
  // Expiry of the server's certificate, in seconds since 1970.
  int64_t certificate_expires_s() const { return certificate_expires_s_; }

 private:
  struct Free {
    void operator()(ssl_ctx_st* context) const;
  };

  TlsContext() = default;

  std::vector<std::string> allowed_sans_;
  int64_t certificate_expires_s_ = 0;
  std::unique_ptr<ssl_ctx_st, Free> context_;
};

// Returns the certificates that the client of a session has sent, in DER, its own first; empty if
// it sent none.
std::vector<std::string> ClientCertificates(ssl_st& session);

}  // namespace podgpu
