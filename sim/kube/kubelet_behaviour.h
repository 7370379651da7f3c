// The misbehaviour of a simulated kubelet: what pod-resources clients meet on real nodes.
//
// Plain data; the defaults are harmless, and several things may be wrong at once.  The faults of a
// node, or a test, decide what goes wrong when; this type only says what is wrong.
#pragma once

#include <chrono>
#include <cstdint>

namespace podgpu::sim {

struct KubeletBehaviour {
  // The server behind the socket's path.
  enum class Socket : uint8_t {
    kServed,
    kGone,      // No file: no kubelet ran, or the file was deleted.
    kRefusing,  // A file without a listener, as after a kill.
    kNoHttp2,   // Accepts connections and answers bytes that are not HTTP/2.
  };
  Socket socket = Socket::kServed;
  // The pods of a list: a kubelet that has just started does not know all of them yet.
  enum class Listing : uint8_t { kAll, kStaticPods, kNoPods };
  Listing listing = Listing::kAll;
  // A change of this number restarts the kubelet: connections end, and the socket's file is a new
  // one.
  uint64_t start = 0;

  std::chrono::milliseconds delay{0};  // Before each answer.
  int64_t reply_bytes = 0;             // List is filled up to this size with pods that hold no GPU.
  bool is_without_v1 = false;
  bool is_denied = false;        // No rights on the file; root gets PERMISSION_DENIED.
  bool is_rate_limited = false;  // Other clients use up the rate limit.
  bool is_garbled = false;       // Answers are not protobuf messages.

  bool operator==(const KubeletBehaviour&) const = default;
};

// The misbehaviour of the port on which the kubelet serves its pods over HTTPS.
struct KubeletHttpsBehaviour {
  bool is_down = false;
  bool is_forbidden = false;     // 403
  bool is_unauthorized = false;  // 401
  KubeletBehaviour::Listing listing = KubeletBehaviour::Listing::kAll;

  bool operator==(const KubeletHttpsBehaviour&) const = default;
};

}  // namespace podgpu::sim
