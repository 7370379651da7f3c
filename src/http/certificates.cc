#include "http/certificates.h"

#include <arpa/inet.h>
#include <ctime>
#include <sys/socket.h>

#include "absl/strings/str_format.h"
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

namespace podgpu {
namespace {

struct FreeBio {
  void operator()(BIO* bio) const { BIO_free(bio); }
};
struct FreeNames {
  void operator()(GENERAL_NAMES* names) const { GENERAL_NAMES_free(names); }
};

std::unique_ptr<BIO, FreeBio> Reading(std::string_view pem) {
  return std::unique_ptr<BIO, FreeBio>(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
}

// Called when a PEM key is encrypted.
int NoPassword(char* /*buffer*/, int /*size*/, int /*is_writing*/, void* was_asked) {
  *static_cast<bool*>(was_asked) = true;
  return -1;
}

std::string TextOf(const ASN1_STRING* text) {
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
          static_cast<size_t>(ASN1_STRING_length(text))};
}

// Returns "10.0.0.1" or "fd00::1"; empty for bytes of another length.
std::string AddressOf(const ASN1_STRING* bytes) {
  char text[INET6_ADDRSTRLEN] = {};
  const int length = ASN1_STRING_length(bytes);
  if (length == 4 || length == 16) {
    ::inet_ntop(length == 4 ? AF_INET : AF_INET6, ASN1_STRING_get0_data(bytes), text, sizeof text);
  }
  return text;
}

}  // namespace

void FreeCertificate::operator()(x509_st* certificate) const { X509_free(certificate); }
void FreeKey::operator()(evp_pkey_st* key) const { EVP_PKEY_free(key); }

std::string TakeTlsError() {
  const unsigned long code = ERR_get_error();
  const char* reason = ERR_reason_error_string(code);
  ERR_clear_error();
  return reason == nullptr ? "no reason given" : reason;
}

StatusOr<std::vector<Certificate>> ReadCertificates(std::string_view pem) {
  const auto bio = Reading(pem);
  std::vector<Certificate> certificates;
  ERR_clear_error();
  while (Certificate next{PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)}) {
    certificates.push_back(std::move(next));
  }
  const bool is_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  const std::string error = TakeTlsError();
  if (!is_end) {
    return absl::InvalidArgumentError(absl::StrFormat("certificate %d is damaged (%s). Replace it",
                                                      certificates.size() + 1, error));
  }
  if (certificates.empty()) {
    return absl::InvalidArgumentError("holds no certificate. PEM begins -----BEGIN CERTIFICATE");
  }
  return certificates;
}

StatusOr<PrivateKey> ReadPrivateKey(std::string_view pem) {
  const auto bio = Reading(pem);
  ERR_clear_error();
  bool is_encrypted = false;
  PrivateKey key(PEM_read_bio_PrivateKey(bio.get(), nullptr, NoPassword, &is_encrypted));
  TakeTlsError();  // Left by decoders that did not match; it would not help.
  if (key == nullptr && is_encrypted) {
    return absl::InvalidArgumentError("is encrypted. Store it without a password");
  }
  if (key == nullptr) {
    return absl::InvalidArgumentError("holds no private key. PEM begins -----BEGIN PRIVATE KEY");
  }
  return key;
}

int64_t ExpiresAt(const x509_st& certificate) {
  tm parts{};
  return ASN1_TIME_to_tm(X509_get0_notAfter(&certificate), &parts) == 1 ? timegm(&parts) : 0;
}

std::vector<std::string> AlternativeNames(const x509_st& certificate) {
  std::vector<std::string> texts;
  const std::unique_ptr<GENERAL_NAMES, FreeNames> names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(&certificate, NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; names != nullptr && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    int type = 0;
    const auto* const text = static_cast<const ASN1_STRING*>(
        GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(names.get(), i), &type));
    if (type == GEN_DNS || type == GEN_EMAIL || type == GEN_URI) {
      texts.push_back(TextOf(text));
    } else if (type == GEN_IPADD) {
      texts.push_back(AddressOf(text));
    }
  }
  return texts;
}

}  // namespace podgpu
