#include "http/testing/tls_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <openssl/ssl.h>

#include "base/text.h"

namespace podgpu {

TlsClient::TlsClient(uint16_t port, int receive_buffer_bytes, const MadeCertificate* identity,
                     const char* tls12_suites)
    : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)),
      context_(SSL_CTX_new(TLS_client_method())),
      session_(nullptr) {
  if (receive_buffer_bytes > 0) {
    ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVBUF, &receive_buffer_bytes,
                 sizeof receive_buffer_bytes);
  }
  const timeval limit = {.tv_sec = 30, .tv_usec = 0};
  ::setsockopt(socket_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  if (identity != nullptr) {
    const std::vector<Certificate> chain = ReadCertificates(identity->certificate).value();
    const PrivateKey key = ReadPrivateKey(identity->key).value();
    SSL_CTX_use_certificate(context_, chain.front().get());
    SSL_CTX_use_PrivateKey(context_, key.get());
  }
  if (tls12_suites != nullptr) {
    SSL_CTX_set_max_proto_version(context_, TLS1_2_VERSION);
    SSL_CTX_set_cipher_list(context_, tls12_suites);
  }
  session_ = SSL_new(context_);
  SSL_set_fd(session_, socket_.get());
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  is_connected_ =
      ::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      SSL_connect(session_) == 1;
}

TlsClient::~TlsClient() {
  SSL_free(session_);
  SSL_CTX_free(context_);
}

bool TlsClient::Send(std::string_view bytes) {
  return SSL_write(session_, bytes.data(), static_cast<int>(bytes.size())) ==
         static_cast<int>(bytes.size());
}

std::string TlsClient::Read() {
  std::string bytes(size_t{16} << 10, '\0');
  const int count = SSL_read(session_, bytes.data(), static_cast<int>(bytes.size()));
  bytes.resize(count > 0 ? static_cast<size_t>(count) : 0);
  return bytes;
}

int TlsClient::Fetch(std::string_view path, size_t bytes) {
  Send("GET " + std::string(path) + " HTTP/1.1\r\nHost: test\r\n\r\n");
  std::string head = Read();
  for (size_t received = head.size(); received < bytes && !head.empty();) {
    const std::string more = Read();
    received += more.size();
    if (more.empty()) {
      return 0;
    }
  }
  // "HTTP/1.1 200 OK"
  return head.size() < 12
             ? 0
             : static_cast<int>(ParseDecimal(std::string_view(head).substr(9, 3)).value_or(0));
}

bool TlsClient::AwaitAnnouncedEnd() {
  while (!Read().empty()) {
  }
  return (SSL_get_shutdown(session_) & SSL_RECEIVED_SHUTDOWN) != 0;
}

}  // namespace podgpu
