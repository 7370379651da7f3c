#include "kube/json_stream.h"

#include <algorithm>

#include "absl/strings/str_format.h"

namespace podgpu {

void JsonStream::Append(std::string_view bytes) {
  buffer_.erase(0, begin_);
  scanned_ -= begin_;
  begin_ = 0;
  if (broken_.ok()) {
    buffer_ += bytes;
  }
}

StatusOr<std::optional<std::string_view>> JsonStream::Next() {
  if (!broken_.ok()) {
    return broken_;
  }
  if (depth_ == 0) {
    begin_ = std::min(buffer_.find_first_not_of(" \t\r\n", begin_), buffer_.size());
    scanned_ = begin_;
    if (begin_ < buffer_.size() && buffer_[begin_] != '{') {
      return broken_ = absl::DataLossError("the answer is not a stream of JSON objects");
    }
  }
  const std::optional<size_t> end = FindEnd();
  if ((end ? *end : buffer_.size()) - begin_ > max_object_bytes_) {
    return broken_ = absl::ResourceExhaustedError(
               absl::StrFormat("an object is larger than %d bytes", max_object_bytes_));
  }
  if (!end) {
    return std::nullopt;
  }
  const auto object = std::string_view(buffer_).substr(begin_, *end - begin_);
  begin_ = *end;
  return object;
}

std::optional<size_t> JsonStream::FindEnd() {
  while (scanned_ < buffer_.size()) {
    const char c = buffer_[scanned_++];
    if (in_string_) {
      in_string_ = escaped_ || c != '"';
      escaped_ = !escaped_ && c == '\\';
    } else if (c == '"') {
      in_string_ = true;
    } else if (c == '{') {
      ++depth_;
    } else if (c == '}' && --depth_ == 0) {
      return scanned_;
    }
  }
  return std::nullopt;
}

}  // namespace podgpu
