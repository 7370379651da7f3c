// Cuts a stream of bytes into the JSON objects that stand in it one after the other.
//
// A watch of the API server is such a stream: where its chunks and lines end means nothing.  Only
// braces and strings are looked at; whether an object is good JSON is for the parser to say.  An
// object above the limit, or bytes between objects that are no white space, end the stream.  One
// thread.
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

  // The next whole object, nothing while there is none, kDataLoss or kResourceExhausted for ever
  // once the stream is broken.  The view is good until the next call of either.
  StatusOr<std::optional<std::string_view>> Next();

  // Bytes of an object that has not ended.
  size_t pending_bytes() const { return buffer_.size() - begin_; }

 private:
  // Where the object that begins at `begin_` ends, if it does; goes on where it stopped.
  std::optional<size_t> FindEnd();

  const size_t max_object_bytes_;
  std::string buffer_;
  size_t begin_ = 0;    // Of the object that comes next.
  size_t scanned_ = 0;  // How far FindEnd has come.
  size_t depth_ = 0;
  bool in_string_ = false;
  bool escaped_ = false;
  Status broken_;
};

}  // namespace podgpu
