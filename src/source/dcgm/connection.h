// The connection to a DCGM engine: embedded in this process, or a host engine over TCP or a unix
// socket.
//
// Open makes a cheap call at the end, because connecting to an engine that hangs reports success
// but gives a dead handle (DCGM 4.6.0, observed).  Owned and called by the source thread, except
// Interrupt and Describe, which any thread may call.  Interrupt ends a hung request by
// disconnecting its handle.  A hung connect cannot be ended that way (it takes two minutes,
// whatever its timeout says), so it runs on a separate thread, which Interrupt writes off.  An
// embedded engine that is blocked in the driver stays blocked.  Must not be destroyed while a call
// hangs.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "abi/load.h"
#include "base/foreign_calls.h"
#include "base/published.h"
#include "base/status.h"

namespace podgpu {

// The address of an engine.
struct DcgmEndpoint {
  enum class Kind : uint8_t { kEmbedded, kTcp, kUnixSocket, kVsock };
  Kind kind = Kind::kEmbedded;
  std::string address;  // host[:port], the path of a socket, or CID:port.
  bool operator==(const DcgmEndpoint&) const = default;
};

// Parses "host:port", "tcp://host:port", "unix:///path", "/path" or "vsock://CID:port"; capital
// letters in the scheme count as small ones.  Returns kInvalidArgument for anything else.
StatusOr<DcgmEndpoint> ParseDcgmAddress(std::string_view text);

// Returns the host of `address`, without brackets and port, if it is the address of an engine on
// another machine.  Empty for an embedded engine, a unix socket, vsock, a loopback address and
// localhost.
std::string OtherHostOf(std::string_view address);

// Returns the value of `version:` in DCGM's build description; empty when there is none.
std::string ParseDcgmVersion(std::string_view build_info);

// The versions in a description that DcgmConnection::Describe returned; empty where unknown.
struct DcgmVersions {
  std::string engine, library;
};
DcgmVersions DcgmVersionsIn(std::string_view description);

class DcgmConnection {
 public:
  // Borrows `library`, which outlives the connection.  `written_off` counts connects that hang.
  DcgmConnection(const abi::DcgmLibrary& library, DcgmEndpoint endpoint,
                 std::chrono::milliseconds timeout, ThreadTally written_off = NewThreadTally());
  ~DcgmConnection();
  DcgmConnection(const DcgmConnection&) = delete;
  DcgmConnection& operator=(const DcgmConnection&) = delete;

  // Connects unless connected.  Returns kUnavailable when no engine answers, kFailedPrecondition
  // when the embedded engine cannot start.
  Status Open();

  // Closes the handle; ids that were made through it become invalid.
  void Close();

  bool is_open() const { return handle_.load() != kNone; }
  bool is_embedded() const { return endpoint_.kind == DcgmEndpoint::Kind::kEmbedded; }
  abi::dcgmHandle_t handle() const { return handle_.load(); }

  void Interrupt() noexcept;

  // Returns for example "dcgm 4.6.0, remote engine nvidia-dcgm:5555".
  std::string Describe() const;
  // Returns for example "the host engine nvidia-dcgm:5555", for messages.
  const std::string& engine_name() const { return engine_name_; }

 private:
  static constexpr abi::dcgmHandle_t kNone = 0;

  Status OpenEmbedded();
  Status OpenRemote();
  Status Verify();
  void ShutDown();
  void NoteVersions();
  void WarnOfMixedReleases(const std::string& engine, const std::string& library);

  const abi::DcgmLibrary& library_;
  const DcgmEndpoint endpoint_;
  const std::chrono::milliseconds timeout_;
  const std::string engine_name_;
  ForeignCalls connects_;
  bool initialised_ = false;
  std::atomic<abi::dcgmHandle_t> handle_ = kNone;
  Published<std::string> description_;
  std::string warned_of_;  // The releases of the last warning.
};

}  // namespace podgpu
