// Feeds bytes to the server's request parser, whole and in pieces. Invariants: the division into
// pieces makes no difference; the parser uses at most the bytes that it was given; a complete
// request has a method and a path of visible characters within the header limit; an error is one of
// six statuses.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "http/request_reader.h"

namespace {

using podgpu::RequestReader;
using State = RequestReader::State;

constexpr podgpu::RequestLimits kLimits = {.max_header_bytes = 512, .max_body_bytes = 256};

struct Seen {
  std::string method;
  std::string path;
  std::string query;
  std::string accept;
  int refusal = 0;
  bool operator==(const Seen&) const = default;
};

bool IsVisible(char c) { return static_cast<unsigned char>(c) > ' ' && c != 0x7F; }

Seen Describe(const RequestReader& reader) {
  if (reader.state() == State::kRefused) {
    const int status = reader.refusal();
    PODGPU_CHECK(status == 400 || status == 405 || status == 413 || status == 417 ||
                 status == 431 || status == 501);
    return {.method = {}, .path = {}, .query = {}, .accept = {}, .refusal = status};
  }
  const podgpu::HttpRequest request = reader.request();
  PODGPU_CHECK(!request.method.empty());
  PODGPU_CHECK(request.path.find('?') == std::string_view::npos);
  PODGPU_CHECK(std::ranges::all_of(request.path, IsVisible));
  PODGPU_CHECK(std::ranges::all_of(request.method, IsVisible));
  PODGPU_CHECK(request.accept.find_first_of("\r\n") == std::string_view::npos);
  PODGPU_CHECK(request.method.size() + request.path.size() + request.query.size() +
                   request.accept.size() + request.accept_encoding.size() +
                   request.if_none_match.size() + request.authorization.size() +
                   request.host.size() + request.origin.size() + request.fetch_site.size() +
                   request.scrape_timeout_s.size() <=
               kLimits.max_header_bytes);
  return {.method = std::string(request.method),
          .path = std::string(request.path),
          .query = std::string(request.query),
          .accept = std::string(request.accept),
          .refusal = 0};
}

// Returns all requests in `bytes`, up to the first error.
std::vector<Seen> ReadAll(std::string_view bytes, size_t piece_bytes) {
  std::vector<Seen> seen;
  RequestReader reader(kLimits);
  std::string buffer;
  while (!bytes.empty() || !buffer.empty()) {
    const size_t piece = std::min(piece_bytes, bytes.size());
    buffer += bytes.substr(0, piece);
    bytes.remove_prefix(piece);
    const size_t used = reader.Feed(buffer);
    PODGPU_CHECK(used <= buffer.size());
    buffer.erase(0, used);
    if (reader.state() != State::kIncomplete) {
      seen.push_back(Describe(reader));
      if (reader.state() == State::kRefused) {
        break;
      }
      reader.Reset();
    } else if (bytes.empty()) {
      break;
    }
  }
  return seen;
}

// Compares for equality, except errors: input that breaks two rules may be refused for either one,
// and a bad, incomplete header may be refused at once or at its end.
bool AreEqual(const std::vector<Seen>& a, const std::vector<Seen>& b) {
  const std::vector<Seen>& longer = a.size() >= b.size() ? a : b;
  const size_t common = std::min(a.size(), b.size());
  for (size_t i = 0; i < common; ++i) {
    if (a[i] != b[i] && (a[i].refusal == 0 || b[i].refusal == 0)) {
      return false;
    }
  }
  return longer.size() == common || (longer.size() == common + 1 && longer.back().refusal != 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) {
    return 0;
  }
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::vector<Seen> whole = ReadAll(bytes, size);
  for (const size_t piece_bytes : {size_t{1}, size_t{data[0]} + 1}) {
    PODGPU_CHECK(AreEqual(whole, ReadAll(bytes, piece_bytes)));
  }
  return 0;
}
