#include "http/testing/authority.h"

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

namespace podgpu {
namespace {

// Returns the text that `write` writes to an OpenSSL memory buffer.
template <typename WritePem>
std::string PemOf(WritePem write) {
  BIO* const bio = BIO_new(BIO_s_mem());
  PODGPU_CHECK(write(bio) == 1);
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  std::string pem(data, static_cast<size_t>(size));
  BIO_free(bio);
  return pem;
}

void Extend(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
  PODGPU_CHECK(extension != nullptr);
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

}  // namespace

Authority::Authority(const std::string& name) : own_(Sign(name, "", 1, nullptr, nullptr)) {}

MadeCertificate Authority::Issue(const std::string& name, const std::string& names,
                                 int days) const {
  const std::vector<Certificate> issuer = ReadCertificates(own_.certificate).value();
  const PrivateKey key = ReadPrivateKey(own_.key).value();
  return Sign(name, names, days, issuer.front().get(), key.get());
}

MadeCertificate Authority::Sign(const std::string& name, const std::string& names, int days,
                                x509_st* issuer, evp_pkey_st* issuer_key) const {
  const PrivateKey key(EVP_EC_gen("P-256"));
  const Certificate certificate(X509_new());
  X509* const made = certificate.get();
  X509_set_version(made, X509_VERSION_3);
  static long serial = 1;
  ASN1_INTEGER_set(X509_get_serialNumber(made), serial++);
  constexpr long kDayS = 86'400;
  X509_gmtime_adj(X509_getm_notBefore(made), -kDayS);
  X509_gmtime_adj(X509_getm_notAfter(made), days * kDayS);
  X509_set_pubkey(made, key.get());
  X509_NAME_add_entry_by_txt(X509_get_subject_name(made), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  const bool is_own = issuer == nullptr;
  X509_set_issuer_name(made, X509_get_subject_name(is_own ? made : issuer));
  Extend(made, is_own ? made : issuer, NID_basic_constraints,
         is_own ? "critical,CA:TRUE" : "critical,CA:FALSE");
  if (!names.empty()) {
    Extend(made, is_own ? made : issuer, NID_subject_alt_name, names);
  }
  PODGPU_CHECK(X509_sign(made, is_own ? key.get() : issuer_key, EVP_sha256()) > 0);
  return {PemOf([&](BIO* bio) { return PEM_write_bio_X509(bio, made); }), PemOf([&](BIO* bio) {
            return PEM_write_bio_PrivateKey(bio, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
          })};
}

}  // namespace podgpu
