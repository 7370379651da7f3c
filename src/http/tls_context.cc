#include "http/tls_context.h"

#include <algorithm>

#include "absl/strings/str_format.h"
#include <openssl/ssl.h>

#include "base/files.h"
#include "http/certificates.h"

namespace podgpu {
namespace {

// Makes a context from settings; each step reports errors as "file: key: problem".
class ContextBuilder {
 public:
  ContextBuilder(const TlsSettings& settings, const std::string& config_path, const Files& files,
                 SSL_CTX* context)
      : settings_(settings), config_path_(config_path), files_(files), context_(context) {}

  Status Build() {
    SSL_CTX_set_options(context_, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION |
                                      SSL_OP_NO_TICKET | SSL_OP_CIPHER_SERVER_PREFERENCE |
                                      SSL_OP_PRIORITIZE_CHACHA);
    if (!settings_.prefer_server_cipher_suites) {
      SSL_CTX_clear_options(context_, SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA);
    }
    SSL_CTX_set_session_cache_mode(context_, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_num_tickets(context_, 0);
    PODGPU_RETURN_IF_ERROR(SetVersionsAndCiphers());
    PODGPU_RETURN_IF_ERROR(SetCertificate());
    return SetClientAuth();
  }

 private:
  Status Refuse(std::string_view key, std::string_view what) const {
    return absl::InvalidArgumentError(
        absl::StrFormat("%s: tls_server_config.%s: %s", config_path_, key, what));
  }

  // Returns the PEM text of `source`, from its file or from the configuration.
  StatusOr<std::string> Pem(const PemSource& source, std::string_view key) const {
    if (source.file.empty()) {
      return source.text;
    }
    StatusOr<std::string> text = files_.Read(source.file);
    if (!text.ok()) {
      return Refuse(absl::StrFormat("%s_file", key),
                    absl::StrFormat("%s. Correct the path", text.status().message()));
    }
    return text;
  }

  // Adds the file to an error: "server.crt holds no certificate", after the key that names it.
  Status RefusePem(const PemSource& source, std::string_view key, const Status& why) const {
    return source.file.empty() ? Refuse(key, std::string(why.message()))
                               : Refuse(absl::StrFormat("%s_file", key),
                                        absl::StrFormat("%s %s", source.file, why.message()));
  }

  Status SetVersionsAndCiphers() {
    constexpr uint16_t kTls12 = TLS1_2_VERSION;
    uint16_t min_version = settings_.min_version;
    std::string list;
    for (const TlsSuiteName& suite : TlsSuiteNames()) {
      // CBC suites leak data through timing; TLS 1.0 and 1.1 have no others.
      const bool is_cbc = suite.name.find("_CBC_") != std::string_view::npos;
      const bool is_default =
          suite.name.starts_with("TLS_ECDHE") && (!is_cbc || min_version < kTls12);
      if (!suite.openssl.empty() && settings_.cipher_suites.empty() && is_default) {
        absl::StrAppendFormat(&list, ":%s", suite.openssl);
      }
    }
    for (const std::string_view name : settings_.cipher_suites) {
      const TlsSuiteName* suite = FindName(TlsSuiteNames(), name);
      if (!suite->openssl.empty()) {
        absl::StrAppendFormat(&list, ":%s", suite->openssl);
      }
    }
    if (list.empty()) {
      // Only suites of TLS 1.3 are configured, so older versions cannot be used.
      if (settings_.max_version < TLS1_3_VERSION) {
        return Refuse("cipher_suites",
                      "none is for TLS 1.2 or older, and max_version allows no other. Add one");
      }
      min_version = TLS1_3_VERSION;
    } else {
      list.erase(0, 1);
      // OpenSSL's default security level forbids the algorithms of older versions.
      list += min_version < kTls12 ? ":@SECLEVEL=0" : "";
      if (SSL_CTX_set_cipher_list(context_, list.c_str()) != 1) {
        return Refuse("cipher_suites", TakeTlsError() + ". Remove the key");
      }
    }
    SSL_CTX_set_min_proto_version(context_, min_version);
    SSL_CTX_set_max_proto_version(context_, settings_.max_version);
    return SetCurves();
  }

  Status SetCurves() {
    std::string list;
    for (const std::string_view name : settings_.curves) {
      absl::StrAppendFormat(&list, "%s%s", list.empty() ? "" : ":",
                            FindName(TlsCurveNames(), name)->openssl);
    }
    if (!list.empty() && SSL_CTX_set1_groups_list(context_, list.c_str()) != 1) {
      return Refuse("curve_preferences", TakeTlsError() + ". Remove the key");
    }
    return absl::OkStatus();
  }

  Status SetCertificate() {
    PODGPU_ASSIGN_OR_RETURN(const std::string pem, Pem(settings_.certificate, "cert"));
    const StatusOr<std::vector<Certificate>> chain = ReadCertificates(pem);
    if (!chain.ok()) {
      return RefusePem(settings_.certificate, "cert", chain.status());
    }
    if (SSL_CTX_use_certificate(context_, chain->front().get()) != 1) {
      return RefusePem(
          settings_.certificate, "cert",
          absl::InvalidArgumentError("is refused: " + TakeTlsError() + ". Use a stronger one"));
    }
    for (size_t i = 1; i < chain->size(); ++i) {
      SSL_CTX_add1_chain_cert(context_, (*chain)[i].get());
    }
    PODGPU_ASSIGN_OR_RETURN(const std::string key_pem, Pem(settings_.key, "key"));
    const StatusOr<PrivateKey> key = ReadPrivateKey(key_pem);
    if (!key.ok()) {
      return RefusePem(settings_.key, "key", key.status());
    }
    if (SSL_CTX_use_PrivateKey(context_, key->get()) != 1) {
      TakeTlsError();
      return RefusePem(
          settings_.key, "key",
          absl::InvalidArgumentError("does not belong to the certificate. Replace both together"));
    }
    return absl::OkStatus();
  }

  Status SetClientAuth() {
    int mode = SSL_VERIFY_NONE;
    if (settings_.client_auth != ClientAuth::kNone) {
      mode = SSL_VERIFY_PEER;
    }
    if (settings_.client_auth == ClientAuth::kRequireAny ||
        settings_.client_auth == ClientAuth::kRequireAndVerify) {
      mode |= SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
    }
    SSL_CTX_set_verify(context_, mode, nullptr);
    if (!settings_.client_ca.is_given()) {
      SSL_CTX_set_default_verify_paths(context_);  // Like Go: use the system's authorities.
      return absl::OkStatus();
    }
    PODGPU_ASSIGN_OR_RETURN(const std::string pem, Pem(settings_.client_ca, "client_ca"));
    const StatusOr<std::vector<Certificate>> authorities = ReadCertificates(pem);
    if (!authorities.ok()) {
      return RefusePem(settings_.client_ca, "client_ca", authorities.status());
    }
    for (const Certificate& authority : *authorities) {
      X509_STORE_add_cert(SSL_CTX_get_cert_store(context_), authority.get());
      SSL_CTX_add_client_CA(context_, authority.get());
    }
    return absl::OkStatus();
  }

  const TlsSettings& settings_;
  const std::string& config_path_;
  const Files& files_;
  SSL_CTX* context_;
};

// Accepts any client certificate.
int TakeAnyCertificate(X509_STORE_CTX* store, void* /*unused*/) {
  X509_STORE_CTX_set_error(store, X509_V_OK);
  return 1;
}

// Returns whether the client's certificate contains one of the allowed names.
bool BearsOneOf(X509_STORE_CTX* store, const std::vector<std::string>& allowed) {
  const X509* const certificate = X509_STORE_CTX_get0_cert(store);
  return certificate != nullptr &&
         std::ranges::any_of(AlternativeNames(*certificate), [&](const std::string& name) {
           return std::ranges::find(allowed, name) != allowed.end();
         });
}

int RefuseCertificate(X509_STORE_CTX* store) {
  X509_STORE_CTX_set_error(store, X509_V_ERR_APPLICATION_VERIFICATION);
  return 0;
}

int TakeAllowedName(X509_STORE_CTX* store, void* allowed) {
  return BearsOneOf(store, *static_cast<const std::vector<std::string>*>(allowed))
             ? TakeAnyCertificate(store, nullptr)
             : RefuseCertificate(store);
}

int TakeVerifiedAllowedName(X509_STORE_CTX* store, void* allowed) {
  if (X509_verify_cert(store) != 1) {
    return 0;
  }
  return BearsOneOf(store, *static_cast<const std::vector<std::string>*>(allowed))
             ? 1
             : RefuseCertificate(store);
}

// Chooses HTTP/1.1 when the client offers several protocols.
int ChooseProtocol(SSL* /*session*/, const unsigned char** chosen, unsigned char* chosen_length,
                   const unsigned char* offered, unsigned int offered_length, void* /*unused*/) {
  static constexpr std::string_view kHttp11 = "http/1.1";
  const std::string_view list(reinterpret_cast<const char*>(offered), offered_length);
  for (size_t at = 0; at < list.size();) {
    const size_t length = static_cast<unsigned char>(list[at]);
    if (list.substr(at + 1, length) == kHttp11) {
      *chosen = offered + at + 1;
      *chosen_length = static_cast<unsigned char>(length);
      return SSL_TLSEXT_ERR_OK;
    }
    at += length + 1;
  }
  return SSL_TLSEXT_ERR_NOACK;
}

std::string DerOf(X509* certificate) {
  unsigned char* bytes = nullptr;
  const int length = i2d_X509(certificate, &bytes);
  std::string der(reinterpret_cast<const char*>(bytes),
                  length > 0 ? static_cast<size_t>(length) : 0);
  OPENSSL_free(bytes);
  return der;
}

}  // namespace

std::vector<std::string> ClientCertificates(ssl_st& session) {
  std::vector<std::string> chain;
  const Certificate own(SSL_get1_peer_certificate(&session));
  if (own == nullptr) {
    return chain;
  }
  chain.push_back(DerOf(own.get()));
  STACK_OF(X509)* const sent = SSL_get_peer_cert_chain(&session);  // A server's lacks the first.
  for (int i = 0; sent != nullptr && i < sk_X509_num(sent); ++i) {
    chain.push_back(DerOf(sk_X509_value(sent, i)));
  }
  return chain;
}

void TlsContext::Free::operator()(ssl_ctx_st* context) const { SSL_CTX_free(context); }

StatusOr<std::shared_ptr<const TlsContext>> TlsContext::Make(const TlsSettings& settings,
                                                             const std::string& config_path,
                                                             const Files& files) {
  // Private constructor: make_shared cannot reach it.
  std::shared_ptr<TlsContext> made(new TlsContext);  // NOLINT(cppcoreguidelines-owning-memory)
  made->context_.reset(SSL_CTX_new(TLS_server_method()));
  PODGPU_CHECK(made->context_ != nullptr);
  SSL_CTX* const context = made->context_.get();
  PODGPU_RETURN_IF_ERROR(ContextBuilder(settings, config_path, files, context).Build());
  if (const X509* const shown = SSL_CTX_get0_certificate(context)) {
    made->certificate_expires_s_ = ExpiresAt(*shown);
  }
  made->allowed_sans_ = settings.client_allowed_sans;
  const bool verifies = settings.client_auth == ClientAuth::kVerifyIfGiven ||
                        settings.client_auth == ClientAuth::kRequireAndVerify;
  if (!made->allowed_sans_.empty()) {
    SSL_CTX_set_cert_verify_callback(context, verifies ? TakeVerifiedAllowedName : TakeAllowedName,
                                     &made->allowed_sans_);
  } else if (!verifies) {
    SSL_CTX_set_cert_verify_callback(context, TakeAnyCertificate, nullptr);
  }
  SSL_CTX_set_alpn_select_cb(context, ChooseProtocol, nullptr);
  return made;
}

ssl_st* TlsContext::NewSession() const {
  SSL* const session = SSL_new(context_.get());
  PODGPU_CHECK(session != nullptr);
  return session;
}

}  // namespace podgpu
