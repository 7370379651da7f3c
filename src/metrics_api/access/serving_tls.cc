#include "metrics_api/access/serving_tls.h"

#include "absl/strings/str_format.h"

#include "base/log.h"
#include "http/certificates.h"

namespace podgpu {
namespace {

constexpr const char* kCertificateFlag = "--metrics-api-cert-file";
constexpr const char* kKeyFlag = "--metrics-api-key-file";

Status RefusedFile(const char* flag, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrFormat("%s: %s", flag, what));
}

StatusOr<std::string> ReadPem(const Files& files, const char* flag, const std::string& path) {
  StatusOr<std::string> text = files.Read(path);
  if (!text.ok()) {
    return RefusedFile(flag, std::string(text.status().message()) + ". Correct the path");
  }
  return text;
}

}  // namespace

StatusOr<std::unique_ptr<ServingTls>> ServingTls::OfFiles(std::string certificate_file,
                                                          std::string key_file,
                                                          const Files& files) {
  // Private constructor: make_unique cannot reach it.
  std::unique_ptr<ServingTls> tls(
      new ServingTls(files));  // NOLINT(cppcoreguidelines-owning-memory)
  tls->certificate_file_ = std::move(certificate_file);
  tls->key_file_ = std::move(key_file);
  PODGPU_ASSIGN_OR_RETURN(std::shared_ptr<const TlsContext> context, tls->ReadFiles());
  tls->Use(std::move(context));
  return tls;
}

StatusOr<std::unique_ptr<ServingTls>> ServingTls::OfPair(const Published<ServingPair>& pair,
                                                         const Files& files) {
  std::unique_ptr<ServingTls> tls(
      new ServingTls(files));  // NOLINT(cppcoreguidelines-owning-memory)
  tls->pair_ = &pair;
  tls->used_ = pair.Get();
  PODGPU_ASSIGN_OR_RETURN(std::shared_ptr<const TlsContext> context,
                          tls->Make(tls->used_->certificate, tls->used_->key));
  tls->Use(std::move(context));
  return tls;
}

std::shared_ptr<const TlsContext> ServingTls::Context() {
  if (pair_ == nullptr) {
    RefreshFiles();
  } else {
    RefreshPair();
  }
  return context_;
}

void ServingTls::Use(std::shared_ptr<const TlsContext> context) {
  context_ = std::move(context);
  expires_s_ = context_->certificate_expires_s();
}

void ServingTls::RefreshPair() {
  std::shared_ptr<const ServingPair> newest = pair_->Get();
  if (newest == used_) {
    return;
  }
  used_ = std::move(newest);
  if (auto made = Make(used_->certificate, used_->key); made.ok()) {
    Use(*std::move(made));
  }
}

void ServingTls::RefreshFiles() {
  if (StampOf(certificate_file_) == certificate_stamp_ && StampOf(key_file_) == key_stamp_) {
    return;
  }
  StatusOr<std::shared_ptr<const TlsContext>> read = ReadFiles();
  is_old_ = !read.ok();
  if (!read.ok()) {
    Log(LogLevel::kError,
        "the changed certificate of the metrics API cannot be used; using the previous one",
        {{"why", std::string(read.status().message())}});
    return;
  }
  Use(*std::move(read));
  Log(LogLevel::kInfo, "the metrics API uses a new certificate",
      {{"file", certificate_file_}, {"expires_s", std::to_string(expires_s_.load())}});
}

// The stamps are taken before the files are read: a change during the read is noticed next time.
StatusOr<std::shared_ptr<const TlsContext>> ServingTls::ReadFiles() {
  certificate_stamp_ = StampOf(certificate_file_);
  key_stamp_ = StampOf(key_file_);
  PODGPU_ASSIGN_OR_RETURN(const std::string certificate,
                          ReadPem(files_, kCertificateFlag, certificate_file_));
  PODGPU_ASSIGN_OR_RETURN(const std::string key, ReadPem(files_, kKeyFlag, key_file_));
  if (const auto chain = ReadCertificates(certificate); !chain.ok()) {
    return RefusedFile(kCertificateFlag,
                       absl::StrFormat("%s %s", certificate_file_, chain.status().message()));
  }
  if (const auto read = ReadPrivateKey(key); !read.ok()) {
    return RefusedFile(kKeyFlag, absl::StrFormat("%s %s", key_file_, read.status().message()));
  }
  auto made = Make(certificate, key);
  if (!made.ok()) {
    return RefusedFile(kKeyFlag,
                       absl::StrFormat("%s cannot be used with %s (%s). Replace both "
                                       "together",
                                       key_file_, certificate_file_, made.status().message()));
  }
  return made;
}

StatusOr<std::shared_ptr<const TlsContext>> ServingTls::Make(const std::string& certificate,
                                                             const std::string& key) const {
  TlsSettings settings;
  settings.certificate.text = certificate;
  settings.key.text = key;
  settings.client_auth = ClientAuth::kRequest;
  return TlsContext::Make(settings, "the metrics API", files_);
}

}  // namespace podgpu
