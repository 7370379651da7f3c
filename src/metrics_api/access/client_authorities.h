// A set of trusted authorities that verifies the certificates of clients.
//
// Verifies the chain, the time and the use as a client certificate; that the client has the key was
// proved by TLS. An intermediate authority in the set is trusted for itself, as in Go. Immutable;
// any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"

struct x509_store_st;

namespace podgpu {

struct VerifiedName {
  std::string common_name;
  std::vector<std::string> organizations;
  int64_t expires_s = 0;  // End of the client's own certificate, since 1970.
};

class ClientAuthorities {
 public:
  // `pem`: one certificate or more; an empty text trusts no client.
  static StatusOr<std::shared_ptr<const ClientAuthorities>> Make(const std::string& pem);

  // `chain_der`: the client's certificate, then others that it sent. kNotFound: no authority here
  // issued it. kUnauthenticated says why the chain is not valid at `now_s`: "it expired at
  // 2026-11-24T12:00:00Z".
  StatusOr<VerifiedName> Verify(std::span<const std::string> chain_der, int64_t now_s) const;

 private:
  struct Free {
    void operator()(x509_store_st* store) const;
  };
  ClientAuthorities() = default;

  std::unique_ptr<x509_store_st, Free> store_;  // Null: no authority.
};

}  // namespace podgpu
