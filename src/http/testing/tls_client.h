// A plain blocking HTTPS client for tests of the server's TLS: OpenSSL on a socket. It verifies
// nothing and shares no code with the server.
//
// For tests only. Every read times out after 30 s, far more than a passing test needs. One thread.
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
  // Connects and does the TLS handshake; `identity` is sent to a server that requests a
  // certificate. `receive_buffer_bytes` above 0 makes the client's window small, to simulate a slow
  // reader; with `tls12_suites`, in OpenSSL's names, the client uses TLS 1.2 with one of these.
  explicit TlsClient(uint16_t port, int receive_buffer_bytes = 0,
                     const MadeCertificate* identity = nullptr, const char* tls12_suites = nullptr);
  TlsClient(const TlsClient&) = delete;
  TlsClient& operator=(const TlsClient&) = delete;
  ~TlsClient();

  bool is_connected() const { return is_connected_; }
  bool Send(std::string_view bytes);
  // Returns the next bytes, up to 16 KiB; empty when the connection has ended.
  std::string Read();
  // Requests `path` and reads at least `bytes`; returns the status, or 0 when the connection ends
  // first.
  int Fetch(std::string_view path, size_t bytes = 1);
  // Reads to the end; returns whether the server announced it with close_notify.
  bool AwaitAnnouncedEnd();

 private:
  FileDescriptor socket_;
  ssl_ctx_st* context_;
  ssl_st* session_;
  bool is_connected_ = false;
};

}  // namespace podgpu
