#include "metrics_api/access/serving_certificate.h"

#include "absl/strings/str_format.h"
#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include "http/certificates.h"
#include "kube/api_server.h"

namespace podgpu {
namespace {

// The clocks of other machines may be behind this one.
constexpr int64_t kBeginsEarlierS = 3'600;

struct FreeMemoryBio {
  void operator()(BIO* bio) const { BIO_free(bio); }
};

template <typename Write>
std::string PemText(Write write) {
  const std::unique_ptr<BIO, FreeMemoryBio> bio(BIO_new(BIO_s_mem()));
  if (write(bio.get()) != 1) {
    return {};
  }
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return {data, static_cast<size_t>(size)};
}

bool AddExtension(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
  const bool is_added = extension != nullptr && X509_add_ext(certificate, extension, -1) == 1;
  X509_EXTENSION_free(extension);
  return is_added;
}

bool SetSerialAndTimes(X509* certificate, int64_t now_s) {
  unsigned char random[16];
  if (RAND_bytes(random, sizeof random) != 1) {
    return false;
  }
  random[0] = (random[0] & 0x3F) | 0x40;  // Positive, and of 16 bytes.
  BIGNUM* const number = BN_bin2bn(random, sizeof random, nullptr);
  const bool is_set = BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate)) != nullptr;
  BN_free(number);
  return is_set && X509_set_version(certificate, X509_VERSION_3) == 1 &&
         ASN1_TIME_set(X509_getm_notBefore(certificate), now_s - kBeginsEarlierS) != nullptr &&
         ASN1_TIME_set(X509_getm_notAfter(certificate), now_s + kServingLifeS) != nullptr;
}

bool SetSubject(X509* certificate, const std::string& name) {
  constexpr size_t kLongestCommonName = 64;
  const std::string common = name.substr(0, kLongestCommonName);
  return X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_ASC,
                                    reinterpret_cast<const unsigned char*>(common.c_str()), -1, -1,
                                    0) == 1;
}

struct Made {
  Certificate certificate;
  PrivateKey key;
};

// Makes the authority, or with `issuer` a certificate for `names`.
StatusOr<Made> MakeOne(const std::string& name, const std::string& names, int64_t now_s,
                       const Made* issuer) {
  Made made{Certificate(X509_new()), PrivateKey(EVP_EC_gen("P-256"))};
  X509* const own = made.certificate.get();
  X509* const by = issuer == nullptr ? own : issuer->certificate.get();
  EVP_PKEY* const signs = issuer == nullptr ? made.key.get() : issuer->key.get();
  const bool is_made =
      own != nullptr && made.key != nullptr && SetSerialAndTimes(own, now_s) &&
      SetSubject(own, name) && X509_set_issuer_name(own, X509_get_subject_name(by)) == 1 &&
      X509_set_pubkey(own, made.key.get()) == 1 &&
      AddExtension(own, by, NID_basic_constraints,
                   issuer == nullptr ? "critical,CA:TRUE" : "critical,CA:FALSE") &&
      AddExtension(own, by, NID_key_usage,
                   issuer == nullptr ? "critical,keyCertSign" : "critical,digitalSignature") &&
      AddExtension(own, by, NID_subject_key_identifier, "hash") &&
      (issuer == nullptr || (AddExtension(own, by, NID_ext_key_usage, "serverAuth") &&
                             AddExtension(own, by, NID_authority_key_identifier, "keyid") &&
                             AddExtension(own, by, NID_subject_alt_name, names))) &&
      X509_sign(own, signs, EVP_sha256()) > 0;
  if (!is_made) {
    return absl::InternalError("OpenSSL cannot make a certificate: " + TakeTlsError());
  }
  return made;
}

std::string PemOfCertificate(const Made& made) {
  return PemText([&](BIO* bio) { return PEM_write_bio_X509(bio, made.certificate.get()); });
}

}  // namespace

StatusOr<MetricsService> ParseMetricsService(std::string_view text) {
  const size_t dot = text.find('.');
  if (dot == std::string_view::npos || !IsObjectName(text.substr(0, dot)) ||
      !IsObjectName(text.substr(dot + 1)) ||
      text.substr(dot + 1).find('.') != std::string_view::npos) {
    return absl::InvalidArgumentError("must be NAME.NAMESPACE of the Service");
  }
  return MetricsService{std::string(text.substr(0, dot)), std::string(text.substr(dot + 1))};
}

StatusOr<ServingPair> MakeServingPair(const MetricsService& service, int64_t now_s) {
  const std::string host = service.name + "." + service.name_space;
  PODGPU_ASSIGN_OR_RETURN(
      const Made authority,
      MakeOne(absl::StrFormat("podgpu-metrics-api-%d", now_s), "", now_s, nullptr));
  const std::string names = absl::StrFormat("DNS:%s.svc,DNS:%s,DNS:%s.svc.cluster.local,DNS:%s",
                                            host, host, host, service.name);
  PODGPU_ASSIGN_OR_RETURN(const Made serving, MakeOne(host + ".svc", names, now_s, &authority));
  return ServingPair{.authority = PemOfCertificate(authority),
                     .certificate = PemOfCertificate(serving),
                     .key = PemText([&](BIO* bio) {
                       return PEM_write_bio_PrivateKey(bio, serving.key.get(), nullptr, nullptr, 0,
                                                       nullptr, nullptr);
                     }),
                     .begins_s = now_s,
                     .expires_s = now_s + kServingLifeS};
}

}  // namespace podgpu
