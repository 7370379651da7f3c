// TLS of the server: one configuration with its certificates, made ready for handshakes.
//
// Made anew when the configuration or one of its files changes; connections keep the one that they
// began with.  No session outlives its connection, so that a certificate or a client authority that
// was replaced is not met again.  Immutable; made and used by the server's thread.
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
  // `config_path` is where the settings come from.  What cannot be used is kInvalidArgument in one
  // line that names file, key and remedy.
  static StatusOr<std::shared_ptr<const TlsContext>> Make(const TlsSettings& settings,
                                                          const std::string& config_path,
                                                          const Files& files);

  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;
  ~TlsContext() = default;

  // The server's end of a new connection, which the caller owns.  The context outlives it.
  ssl_st* NewSession() const;
  // When the certificate that it shows expires, in seconds since 1970.
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

}  // namespace podgpu
