#include "cluster/client_access.h"

#include <utility>

#include "base/log.h"

namespace podgpu {

void ClientAccess::Refresh(HttpClient& client) {
  constexpr std::chrono::seconds kCheckInterval{10};
  const Instant now = clock_.Now();
  if (checked_at_ && (path_.empty() || now < *checked_at_ + kCheckInterval)) {
    return;
  }
  checked_at_ = now;
  const Status status = Use(client);
  std::string complaint(status.message());
  if (complaint != complaint_ && !status.ok()) {
    Log(LogLevel::kError, "new credentials for servers cannot be used; the previous ones stay",
        {{"error", complaint}});
  }
  complaint_ = std::move(complaint);
}

// Changes nothing before all checks have passed, so a broken file leaves the previous credentials.
Status ClientAccess::Use(HttpClient& client) {
  NodeWebAccess access;
  if (!path_.empty()) {
    PODGPU_ASSIGN_OR_RETURN(access, ReadNodeWebConfig(path_, files_));
  }
  if (always_tls_ && !access.tls) {
    access.tls.emplace();
  }
  PODGPU_RETURN_IF_ERROR(CheckSecrecy(access, path_));
  if (access == access_) {
    return absl::OkStatus();
  }
  PODGPU_RETURN_IF_ERROR(client.UseTls(access.tls ? &*access.tls : nullptr));
  access_ = std::move(access);
  if (!access_.authorization.empty() && !access_.tls && !std::exchange(has_warned_, true)) {
    Log(LogLevel::kWarn,
        "insecure_http: a token or password is sent over plain HTTP, where others on the network "
        "can read it. Use TLS: add tls_config",
        {{"file", path_}});
  }
  return absl::OkStatus();
}

}  // namespace podgpu
