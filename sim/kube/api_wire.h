// The wire of the simulated API server: its self-made certificate, and one TLS connection over a
// blocking socket.
//
// Plain OpenSSL, without the client's code.  Many threads may use a Tls, one thread a connection;
// the caller owns the socket.
#pragma once

#include <memory>
#include <string>

struct evp_pkey_st;
struct ssl_ctx_st;
struct ssl_st;
struct x509_st;

namespace podgpu::sim {
namespace openssl {
struct Free {
  void operator()(evp_pkey_st* object) const;
  void operator()(ssl_ctx_st* object) const;
  void operator()(ssl_st* object) const;
  void operator()(x509_st* object) const;
};
using Key = std::unique_ptr<evp_pkey_st, Free>;
using Certificate = std::unique_ptr<x509_st, Free>;
using Context = std::unique_ptr<ssl_ctx_st, Free>;
using Session = std::unique_ptr<ssl_st, Free>;
}  // namespace openssl

// A self-signed certificate for 127.0.0.1 with its TLS context.
class ApiTls {
 public:
  ApiTls();
  ssl_ctx_st* context() const { return context_.get(); }
  // The certificate as text, for clients that must trust it.
  std::string Pem() const;

 private:
  const openssl::Key key_;
  const openssl::Certificate certificate_;
  const openssl::Context context_;
};

class ApiWire {
 public:
  ApiWire(const ApiTls& tls, int socket);
  // Does the TLS handshake.
  bool Greet();
  bool Send(const std::string& bytes);
  // Head and body of the next request; empty when the connection has ended.
  std::string Receive();
  void Cut() const;

 private:
  const int socket_;
  const openssl::Session session_;
  std::string received_;
};

}  // namespace podgpu::sim
