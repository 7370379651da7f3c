#include "http/inherited_socket.h"

#include "absl/strings/str_format.h"

#include "base/text.h"

namespace podgpu {

StatusOr<int> InheritedSocket(const std::optional<std::string>& listen_fds,
                              const std::optional<std::string>& listen_pid, int64_t pid) {
  constexpr int kFirst = 3;  // SD_LISTEN_FDS_START.
  const auto refuse = [](std::string_view why) {
    return absl::InvalidArgumentError(
        absl::StrFormat("--web-systemd-socket: %s. Start podgpu from a .socket unit with one "
                        "ListenStream=, or remove the flag",
                        why));
  };
  if (!listen_fds || !listen_pid) {
    return refuse("systemd has passed no socket");
  }
  if (ParseDecimal(*listen_pid) != static_cast<uint64_t>(pid)) {
    return refuse(
        absl::StrFormat("the socket is for process %s, and this is %d", Quoted(*listen_pid), pid));
  }
  const std::optional<uint64_t> count = ParseDecimal(*listen_fds);
  if (count != 1) {
    return refuse(absl::StrFormat("systemd has passed %s sockets", Quoted(*listen_fds)));
  }
  return kFirst;
}

}  // namespace podgpu
