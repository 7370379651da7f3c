// The connection to a DCGM engine: one inside this process, or a host engine over TCP or a socket.
//
// Opening ends with a cheap call, because a connect to an engine that hangs reports success and
// leaves a dead handle (DCGM 4.6.0, observed).  Owned and called by the source thread, but for
// Interrupt and Describe, which any thread may call.  Interrupt frees a request that hangs, by
// disconnecting under it.  A connect that hangs cannot be freed (it takes two minutes, whatever its
// time-out says), so it runs on a thread that Interrupt writes off.  An embedded engine whose
// driver blocks stays blocked.  Must not be destroyed while a call hangs.
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

// Where an engine is.
struct DcgmEndpoint {
  enum class Kind : uint8_t { kEmbedded, kTcp, kUnixSocket };
  Kind kind = Kind::kEmbedded;
  std::string address;  // host[:port], or the path of a socket.
  bool operator==(const DcgmEndpoint&) const = default;
};

// Reads "host:port", "tcp://host:port", "unix:///path" or "/path".  kInvalidArgument otherwise.
StatusOr<DcgmEndpoint> ParseDcgmAddress(std::string_view text);

// The value of `version:` in a build description of DCGM, or nothing.
std::string ParseDcgmVersion(std::string_view build_info);

class DcgmConnection {
 public:
  // Borrows `library`, which outlives the connection.  `written_off` counts connects that hang.
  DcgmConnection(const abi::DcgmLibrary& library, DcgmEndpoint endpoint,
                 std::chrono::milliseconds timeout, ThreadTally written_off = NewThreadTally());
  ~DcgmConnection();
  DcgmConnection(const DcgmConnection&) = delete;
  DcgmConnection& operator=(const DcgmConnection&) = delete;

  // Connects unless connected.  kUnavailable when no engine answers; kFailedPrecondition when the
  // embedded one cannot start.
  Status Open();

  // Gives the handle up; ids made through it are void.
  void Close();

  bool is_open() const { return handle_.load() != kNone; }
  bool is_embedded() const { return endpoint_.kind == DcgmEndpoint::Kind::kEmbedded; }
  abi::dcgmHandle_t handle() const { return handle_.load(); }

  void Interrupt() noexcept;

  // "dcgm 4.6.0, remote engine nvidia-dcgm:5555"
  std::string Describe() const;
  // "the host engine nvidia-dcgm:5555", for messages.
  const std::string& engine_name() const { return engine_name_; }

 private:
  static constexpr abi::dcgmHandle_t kNone = 0;

  Status OpenEmbedded();
  Status OpenRemote();
  Status Verify();
  void ShutDown();
  void NoteVersions();

  const abi::DcgmLibrary& library_;
  const DcgmEndpoint endpoint_;
  const std::chrono::milliseconds timeout_;
  const std::string engine_name_;
  ForeignCalls connects_;
  bool initialised_ = false;
  std::atomic<abi::dcgmHandle_t> handle_ = kNone;
  Published<std::string> description_;
};

}  // namespace podgpu
