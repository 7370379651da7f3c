// A certificate authority for tests: makes certificates and keys in PEM, valid for a day by
// default.
//
// Keys use P-256, which is fast. For tests only; one thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "http/certificates.h"

namespace podgpu {

struct MadeCertificate {
  std::string certificate;  // In PEM.
  std::string key;          // In PEM.
};

class Authority {
 public:
  explicit Authority(const std::string& name);

  const std::string& certificate() const { return own_.certificate; }

  // For server or client; `names` in OpenSSL's form: "DNS:localhost,IP:127.0.0.1".
  MadeCertificate Issue(const std::string& name, const std::string& names, int days = 1) const;

 private:
  MadeCertificate Sign(const std::string& name, const std::string& names, int days, x509_st* issuer,
                       evp_pkey_st* issuer_key) const;

  MadeCertificate own_;
};

}  // namespace podgpu
