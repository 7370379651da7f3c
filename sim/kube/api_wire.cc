#include "sim/kube/api_wire.h"

#include <string_view>
#include <sys/socket.h>
#include <utility>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include "base/status.h"
#include "base/text.h"

namespace podgpu::sim {
namespace {

// Makes a self-signed certificate for 127.0.0.1.
openssl::Certificate SelfSigned(EVP_PKEY* key) {
  openssl::Certificate certificate(X509_new());
  X509_set_version(certificate.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -3'600);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 365L * 24 * 3'600);
  X509_set_pubkey(certificate.get(), key);
  X509_NAME* name = X509_get_subject_name(certificate.get());
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>("a test"), -1, -1, 0);
  X509_set_issuer_name(certificate.get(), name);
  for (const auto& [id, value] :
       {std::pair{NID_subject_alt_name, "IP:127.0.0.1"}, {NID_basic_constraints, "CA:TRUE"}}) {
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, id, value);
    X509_add_ext(certificate.get(), extension, -1);
    X509_EXTENSION_free(extension);
  }
  PODGPU_CHECK(X509_sign(certificate.get(), key, EVP_sha256()) > 0);
  return certificate;
}

// The bytes of the body after a head, as its client announces them.
size_t BodySize(std::string_view head) {
  constexpr std::string_view kName = "\r\nContent-Length: ";
  const size_t at = head.find(kName);
  if (at == std::string_view::npos) {
    return 0;
  }
  const std::string_view value = head.substr(at + kName.size());
  return ParseDecimal(value.substr(0, value.find('\r'))).value_or(0);
}

}  // namespace

namespace openssl {
void Free::operator()(evp_pkey_st* object) const { EVP_PKEY_free(object); }
void Free::operator()(ssl_ctx_st* object) const { SSL_CTX_free(object); }
void Free::operator()(ssl_st* object) const { SSL_free(object); }
void Free::operator()(x509_st* object) const { X509_free(object); }
}  // namespace openssl

ApiTls::ApiTls()
    : key_(EVP_EC_gen("P-256")),
      certificate_(SelfSigned(key_.get())),
      context_(SSL_CTX_new(TLS_server_method())) {
  PODGPU_CHECK(SSL_CTX_use_certificate(context_.get(), certificate_.get()) == 1);
  PODGPU_CHECK(SSL_CTX_use_PrivateKey(context_.get(), key_.get()) == 1);
}

std::string ApiTls::Pem() const {
  BIO* memory = BIO_new(BIO_s_mem());
  PEM_write_bio_X509(memory, certificate_.get());
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(memory, &bytes);
  std::string pem(bytes, static_cast<size_t>(size));
  BIO_free(memory);
  return pem;
}

ApiWire::ApiWire(const ApiTls& tls, int socket)
    : socket_(socket), session_(SSL_new(tls.context())) {
  SSL_set_fd(session_.get(), socket);
}

bool ApiWire::Greet() { return SSL_accept(session_.get()) == 1; }

bool ApiWire::Send(const std::string& bytes) {
  return SSL_write(session_.get(), bytes.data(), static_cast<int>(bytes.size())) > 0;
}

std::string ApiWire::Receive() {
  while (true) {
    if (const size_t end = received_.find("\r\n\r\n"); end != std::string::npos) {
      const size_t size = end + 4 + BodySize(std::string_view(received_).substr(0, end + 2));
      if (received_.size() >= size) {
        std::string request = received_.substr(0, size);
        received_.erase(0, size);
        return request;
      }
    }
    char bytes[4096];
    const int count = SSL_read(session_.get(), bytes, sizeof bytes);
    if (count <= 0) {
      return {};
    }
    received_.append(bytes, static_cast<size_t>(count));
  }
}

void ApiWire::Cut() const { ::shutdown(socket_, SHUT_RDWR); }

}  // namespace podgpu::sim
