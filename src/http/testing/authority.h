// A certificate authority for tests: makes certificates and keys in PEM, valid for a day or as
// many as wanted.
//
// Keys are on P-256, so that making one takes no time.  For tests only; one thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "http/certificates.h"

namespace podgpu {

struct MadeCertificate {
  std::string certificate;  // In PEM.
  std::string key;          // Likewise.
};

class Authority {
 public:
  explicit Authority(const std::string& name);

  const std::string& certificate() const { return own_.certificate; }

  // For server or client; `names` as OpenSSL writes them: "DNS:localhost,IP:127.0.0.1".
  MadeCertificate Issue(const std::string& name, const std::string& names, int days = 1) const;

 private:
  MadeCertificate Sign(const std::string& name, const std::string& names, int days, x509_st* issuer,
                       evp_pkey_st* issuer_key) const;

  MadeCertificate own_;
};

}  // namespace podgpu
