// How a simulated kubelet misbehaves: everything that a pod-resources client has met in the field.
//
// Plain data, all of it harmless by default; several things may be wrong at once.  Who decides what
// goes wrong when is not in here: the faults of a node, or a test.
#pragma once

#include <chrono>
#include <cstdint>

namespace podgpu::sim {

struct KubeletBehaviour {
  // What is behind the socket's path.
  enum class Socket : uint8_t {
    kServed,
    kGone,      // Nothing: no kubelet has been here, or somebody has tidied up.
    kRefusing,  // A file that nobody listens behind, as a killed kubelet leaves it.
    kNoHttp2,   // Something that takes connections and answers bytes of its own.
  };
  Socket socket = Socket::kServed;
  // Which pods a list has: a kubelet that has just started does not know all of them yet.
  enum class Listing : uint8_t { kAll, kStaticPods, kNoPods };
  Listing listing = Listing::kAll;
  // Another number than before: the kubelet has started again.  Connections end, the socket's file
  // is a new one.
  uint64_t start = 0;

  std::chrono::milliseconds delay{0};  // Before each answer.
  int64_t reply_bytes = 0;             // List is filled up to this size with pods that hold no GPU.
  bool is_without_v1 = false;
  bool is_denied = false;        // No rights on the file; who ignores those is told so in words.
  bool is_rate_limited = false;  // Somebody else takes all the calls there are.
  bool is_garbled = false;       // Answers are no messages.

  bool operator==(const KubeletBehaviour&) const = default;
};

// Of the port on which the kubelet serves its pods over HTTPS.
struct KubeletHttpsBehaviour {
  bool is_down = false;
  bool is_forbidden = false;     // 403
  bool is_unauthorized = false;  // 401
  KubeletBehaviour::Listing listing = KubeletBehaviour::Listing::kAll;

  bool operator==(const KubeletHttpsBehaviour&) const = default;
};

}  // namespace podgpu::sim
