// A scraper for benchmarks: one kept connection; it counts the pages, drops them, and times each
// round trip.
//
// Not for tests, which read the answers: http/testing/loopback_client.h.  The time runs from before
// the request is sent until the last byte of the page has arrived; chunks count with their frames.
// A page is not decompressed: that is the scraper's own cost.  One thread.
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
  // The length that `percent` of the trips do not exceed; 0 when there are none.
  double Percentile(double percent) const;

 private:
  std::vector<double> lengths_ms_;
};

class Scraper {
 public:
  enum class Encoding : uint8_t { kPlain, kGzip };

  // Connects to the loopback interface; `from`, an address of 127.0.0.0/8, stands for another
  // machine.
  Scraper(uint16_t port, Encoding encoding, std::string_view path = "/metrics",
          const char* from = "127.0.0.1");

  // Requests the page once more.  Returns the bytes of the body; 0 unless it came whole and with
  // status 200, after which the connection cannot be used.
  size_t Fetch();
  // The same, timed into `trips` when it succeeds.
  size_t Fetch(RoundTrips& trips);

 private:
  // Reads the rest of a body of which this many bytes have arrived; returns its whole length.
  size_t ReadLength(size_t got, size_t length);
  size_t ReadChunks(std::string_view begun);
  // Reads more bytes after those in the buffer; false when the connection has ended.
  bool Receive();

  FileDescriptor socket_;
  bool is_good_ = false;
  std::string request_;
  std::array<char, 1 << 16> buffer_{};
  size_t held_bytes_ = 0;  // Of the buffer.
};

}  // namespace podgpu
