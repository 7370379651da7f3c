#include "metrics_api/access/client_authorities.h"

#include "absl/strings/str_format.h"
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include "base/text.h"
#include "base/time_text.h"
#include "http/certificates.h"

namespace podgpu {
namespace {

struct FreeStoreContext {
  void operator()(X509_STORE_CTX* context) const { X509_STORE_CTX_free(context); }
};
struct FreeStack {  // The certificates have owners of their own.
  void operator()(STACK_OF(X509) * stack) const { sk_X509_free(stack); }
};

Certificate FromDer(const std::string& der) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(der.data());
  return Certificate(d2i_X509(nullptr, &bytes, static_cast<long>(der.size())));
}

// All values of one kind in the subject, such as several organisations.
std::vector<std::string> SubjectTexts(const X509& certificate, int nid) {
  std::vector<std::string> texts;
  X509_NAME* const subject = X509_get_subject_name(&certificate);
  for (int at = X509_NAME_get_index_by_NID(subject, nid, -1); at >= 0;
       at = X509_NAME_get_index_by_NID(subject, nid, at)) {
    unsigned char* utf8 = nullptr;
    const int length =
        ASN1_STRING_to_UTF8(&utf8, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
    if (length >= 0) {
      texts.emplace_back(reinterpret_cast<const char*>(utf8), static_cast<size_t>(length));
      OPENSSL_free(utf8);
    }
  }
  return texts;
}

// Why the chain is not valid.  OpenSSL's own text does not say which certificate of the chain has
// expired, nor when; an operator needs both to renew it.
std::string ReasonOf(X509_STORE_CTX* context, int error) {
  const X509* const at = X509_STORE_CTX_get_current_cert(context);
  if (error != X509_V_ERR_CERT_HAS_EXPIRED || at == nullptr) {
    return X509_verify_cert_error_string(error);
  }
  const std::string when = Rfc3339(ExpiresAt(*at));
  if (X509_STORE_CTX_get_error_depth(context) == 0) {
    return absl::StrFormat("it expired at %s", when);
  }
  const std::vector<std::string> names = SubjectTexts(*at, NID_commonName);
  return absl::StrFormat("its authority %s expired at %s",
                         Quoted(names.empty() ? "" : names.back()), when);
}

}  // namespace

void ClientAuthorities::Free::operator()(x509_store_st* store) const { X509_STORE_free(store); }

StatusOr<std::shared_ptr<const ClientAuthorities>> ClientAuthorities::Make(const std::string& pem) {
  // Private constructor: make_shared cannot reach it.
  std::shared_ptr<ClientAuthorities> made(
      new ClientAuthorities);  // NOLINT(cppcoreguidelines-owning-memory)
  if (pem.empty()) {
    return made;
  }
  PODGPU_ASSIGN_OR_RETURN(const std::vector<Certificate> authorities, ReadCertificates(pem));
  made->store_.reset(X509_STORE_new());
  for (const Certificate& authority : authorities) {
    X509_STORE_add_cert(made->store_.get(), authority.get());
  }
  return made;
}

StatusOr<VerifiedName> ClientAuthorities::Verify(std::span<const std::string> chain_der,
                                                 int64_t now_s) const {
  if (store_ == nullptr || chain_der.empty()) {
    return absl::NotFoundError("no authority is known for it");
  }
  std::vector<Certificate> chain;
  const std::unique_ptr<STACK_OF(X509), FreeStack> untrusted(sk_X509_new_null());
  for (const std::string& der : chain_der) {
    chain.push_back(FromDer(der));
    if (chain.back() == nullptr) {
      TakeTlsError();
      return absl::UnauthenticatedError("it cannot be parsed");
    }
    if (chain.size() > 1) {
      sk_X509_push(untrusted.get(), chain.back().get());
    }
  }
  const std::unique_ptr<X509_STORE_CTX, FreeStoreContext> context(X509_STORE_CTX_new());
  X509_STORE_CTX_init(context.get(), store_.get(), chain.front().get(), untrusted.get());
  X509_VERIFY_PARAM* const parameters = X509_STORE_CTX_get0_param(context.get());
  X509_VERIFY_PARAM_set_flags(parameters, X509_V_FLAG_PARTIAL_CHAIN);
  X509_VERIFY_PARAM_set_time(parameters, static_cast<time_t>(now_s));
  X509_VERIFY_PARAM_set_purpose(parameters, X509_PURPOSE_SSL_CLIENT);
  if (X509_verify_cert(context.get()) != 1) {
    const int error = X509_STORE_CTX_get_error(context.get());
    TakeTlsError();
    return error == X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY
               ? absl::NotFoundError("no authority is known for it")
               : absl::UnauthenticatedError(ReasonOf(context.get(), error));
  }
  const std::vector<std::string> names = SubjectTexts(*chain.front(), NID_commonName);
  return VerifiedName{.common_name = names.empty() ? "" : names.back(),
                      .organizations = SubjectTexts(*chain.front(), NID_organizationName),
                      .expires_s = ExpiresAt(*chain.front())};
}

}  // namespace podgpu
