// A scraper as the benchmarks need it: one kept connection, pages counted and thrown away, each
// round trip timed.
//
// Not for tests, which read what they get: http/testing/loopback_client.h.  The clock runs from
// before the request is sent until the last byte of the page is here; chunks count with their
// frames.  A page is not unpacked: what a scraper does with it is its own cost.  One thread.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/file_descriptor.h"

namespace podgpu {

// Round trips in milliseconds.
class RoundTrips {
 public:
  void Add(Duration length);
  size_t count() const { return lengths_ms_.size(); }
  // The length that `percent` of them do not exceed; 0 when there are none.
  double Percentile(double percent) const;

 private:
  std::vector<double> lengths_ms_;
};

class Scraper {
 public:
  enum class Encoding : uint8_t { kPlain, kGzip };

  // Connects to the loopback interface; `from` is one of the addresses 127.0.0.0/8, to play another
  // machine.
  Scraper(uint16_t port, Encoding encoding, std::string_view path = "/metrics",
          const char* from = "127.0.0.1");

  // Asks for the page once more.  The bytes of the body; 0 unless it came whole and with status
  // 200, after which the connection is of no more use.
  size_t Fetch();
  // The same, timed into `trips` when it succeeds.
  size_t Fetch(RoundTrips& trips);

 private:
  // The rest of a body, of which so much is here; how long it is in all.
  size_t ReadLength(size_t got, size_t length);
  size_t ReadChunks(std::string_view begun);
  // More bytes behind those that are there; false when the connection has ended.
  bool Receive();

  FileDescriptor socket_;
  bool is_good_ = false;
  std::string request_;
  std::array<char, 1 << 16> buffer_{};
  size_t held_bytes_ = 0;  // Of the buffer.
};

}  // namespace podgpu
