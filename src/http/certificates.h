// Certificates and keys, from PEM to OpenSSL's objects, and the names that a certificate bears.
//
// Errors are sentences without file and key; whoever asked knows those.  For the server's own TLS
// sources only.  Any thread.
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

// All certificates of `pem`, at least one.
StatusOr<std::vector<Certificate>> ReadCertificates(std::string_view pem);

// The private key of `pem`; one that is encrypted is refused.
StatusOr<PrivateKey> ReadPrivateKey(std::string_view pem);

// Subject alternative names: DNS, e-mail, IP and URI, as texts.
std::vector<std::string> AlternativeNames(const x509_st& certificate);

// When a certificate expires, in seconds since 1970; 0 where it does not say.
int64_t ExpiresAt(const x509_st& certificate);

// What OpenSSL says of the last thing that went wrong on this thread; forgets it.
std::string TakeTlsError();

}  // namespace podgpu
