// Splits a byte stream into consecutive JSON objects.
//
// A watch of the API server is such a stream; its chunk and line boundaries mean nothing. Only
// braces and strings are examined; the parser checks the JSON. An object above the limit, or bytes
// other than white space between objects, end the stream. One thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace podgpu {

class JsonStream {
 public:
  explicit JsonStream(size_t max_object_bytes) : max_object_bytes_(max_object_bytes) {}

  void Append(std::string_view bytes);

  // Returns the next complete object, nothing while there is none, or kDataLoss or
  // kResourceExhausted at every call once the stream is broken. The view is valid until the next
  // call of Append or Next.
  StatusOr<std::optional<std::string_view>> Next();

  // Bytes of an incomplete object.
  size_t pending_bytes() const { return buffer_.size() - begin_; }

 private:
  // Returns the end of the object at `begin_` if it has arrived; continues from the last position.
  std::optional<size_t> FindEnd();

  const size_t max_object_bytes_;
  std::string buffer_;
  size_t begin_ = 0;    // Start of the next object.
  size_t scanned_ = 0;  // Bytes of the buffer that FindEnd has examined.
  size_t depth_ = 0;
  bool in_string_ = false;
  bool escaped_ = false;
  Status broken_;
};

}  // namespace podgpu
