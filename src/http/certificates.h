// Turns PEM certificates and keys into OpenSSL objects, and reads the names in a certificate.
//
// Error messages contain neither file name nor key; the caller adds the file name. For the server's
// own TLS sources only. Any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

struct x509_st;
struct evp_pkey_st;

namespace podgpu {

struct FreeCertificate {
  void operator()(x509_st* certificate) const;
};
struct FreeKey {
  void operator()(evp_pkey_st* key) const;
};
using Certificate = std::unique_ptr<x509_st, FreeCertificate>;
using PrivateKey = std::unique_ptr<evp_pkey_st, FreeKey>;

// Returns all certificates of `pem`, at least one.
StatusOr<std::vector<Certificate>> ReadCertificates(std::string_view pem);

// Returns the private key of `pem`; an encrypted key is an error.
StatusOr<PrivateKey> ReadPrivateKey(std::string_view pem);

// Returns the subject alternative names (DNS, e-mail, IP and URI) as texts.
std::vector<std::string> AlternativeNames(const x509_st& certificate);

// Returns the expiry time in seconds since 1970, or 0 when the certificate has none.
int64_t ExpiresAt(const x509_st& certificate);

// Returns OpenSSL's text for the last error on this thread, and clears the error.
std::string TakeTlsError();

}  // namespace podgpu
