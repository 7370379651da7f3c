// A plain blocking HTTPS client for tests of the server's TLS: OpenSSL on a socket, which verifies
// nothing, so that it shares no code with what it checks.
//
// For tests only.  Every read gives up after 30 s, which no passing test comes near.  One thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/file_descriptor.h"
#include "http/testing/authority.h"

struct ssl_ctx_st;
struct ssl_st;

namespace podgpu {

class TlsClient {
 public:
  // Connects and shakes hands; `identity` is shown to a server that asks for a certificate.
  // `receive_buffer_bytes` above 0 makes the client's window small, to play a slow reader; with
  // `tls12_suites`, in OpenSSL's words, it speaks TLS 1.2 with one of these.
  explicit TlsClient(uint16_t port, int receive_buffer_bytes = 0,
                     const MadeCertificate* identity = nullptr, const char* tls12_suites = nullptr);
  TlsClient(const TlsClient&) = delete;
  TlsClient& operator=(const TlsClient&) = delete;
  ~TlsClient();

  bool is_connected() const { return is_connected_; }
  bool Send(std::string_view bytes);
  // What comes next, up to 16 KiB; empty when the connection has ended.
  std::string Read();
  // Asks for `path` and reads until `bytes` have come; the status, or 0 when the end comes before.
  int Fetch(std::string_view path, size_t bytes = 1);
  // Reads to the end; whether the server announced it, as TLS asks.
  bool AwaitAnnouncedEnd();

 private:
  FileDescriptor socket_;
  ssl_ctx_st* context_;
  ssl_st* session_;
  bool is_connected_ = false;
};

}  // namespace podgpu
