// The TLS context of the metrics API: from certificate files that are read again when they change,
// or from the self-made certificate.
//
// Every context asks clients for a certificate and accepts any; the authenticator judges it. A bad
// new pair of files is not used: the old one stays, the log says why once, and the facts say it
// until the files are good. Used on the HTTP thread; the counters may be read from any thread.
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "base/file_stamp.h"
#include "base/files.h"
#include "base/published.h"
#include "base/status.h"
#include "http/tls_context.h"
#include "metrics_api/access/serving_certificate.h"

namespace podgpu {

class ServingTls {
 public:
  // `files` outlives it. kInvalidArgument names the flag, the file and the remedy.
  static StatusOr<std::unique_ptr<ServingTls>> OfFiles(std::string certificate_file,
                                                       std::string key_file, const Files& files);
  // `pair` outlives it and has a value.
  static StatusOr<std::unique_ptr<ServingTls>> OfPair(const Published<ServingPair>& pair,
                                                      const Files& files);

  // Returns the newest context.
  std::shared_ptr<const TlsContext> Context();

  int64_t expires_s() const { return expires_s_.load(); }
  // The changed files cannot be used.
  bool is_old() const { return is_old_.load(); }

 private:
  explicit ServingTls(const Files& files) : files_(files) {}

  void RefreshFiles();
  void RefreshPair();
  StatusOr<std::shared_ptr<const TlsContext>> ReadFiles();
  StatusOr<std::shared_ptr<const TlsContext>> Make(const std::string& certificate,
                                                   const std::string& key) const;
  void Use(std::shared_ptr<const TlsContext> context);

  const Files& files_;
  std::string certificate_file_, key_file_;  // Empty with a pair.
  FileStamp certificate_stamp_, key_stamp_;  // Stamps of the last attempt to read.
  const Published<ServingPair>* pair_ = nullptr;
  std::shared_ptr<const ServingPair> used_;  // The pair of the context.
  std::shared_ptr<const TlsContext> context_;
  std::atomic<int64_t> expires_s_ = 0;
  std::atomic<bool> is_old_ = false;
};

}  // namespace podgpu
