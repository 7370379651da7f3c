#include "kube/list_stream.h"

#include "absl/strings/str_format.h"

namespace podgpu {
namespace {

// Kind, version and token need a few hundred bytes.
constexpr size_t kMaxSurroundingBytes = 65'536;

bool IsBlank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

Status NoList() { return absl::DataLossError("the answer is not a list of the Kubernetes API"); }

}  // namespace

void ListStream::Append(std::string_view bytes) {
  buffer_.erase(0, taken_);
  taken_ = 0;
  if (broken_.ok()) {
    buffer_ += bytes;
  }
}

StatusOr<std::optional<std::string_view>> ListStream::Next() {
  PODGPU_RETURN_IF_ERROR(broken_);
  if (depth_ == 2 && in_items_) {
    item_.clear();  // The previous object.
  }
  while (taken_ < buffer_.size()) {
    const StatusOr<bool> is_end = Take(buffer_[taken_++]);
    if (!is_end.ok()) {
      return broken_ = is_end.status();
    }
    if (*is_end) {
      return item_;
    }
  }
  return std::nullopt;
}

StatusOr<std::string_view> ListStream::Surrounding() const {
  PODGPU_RETURN_IF_ERROR(broken_);
  if (!is_whole_) {
    return NoList();
  }
  return surrounding_;
}

StatusOr<bool> ListStream::Take(char c) {
  if (in_items_ && depth_ == 2) {
    return TakeBetweenItems(c);
  }
  if (in_items_) {
    if (item_.size() == max_item_bytes_) {
      return absl::ResourceExhaustedError(
          absl::StrFormat("an object of a list is larger than %d bytes", max_item_bytes_));
    }
    item_ += c;
    Count(c);
    return depth_ == 2;
  }
  if (is_whole_ || (depth_ == 0 && c != '{')) {
    return IsBlank(c) ? StatusOr<bool>(false) : NoList();
  }
  if (surrounding_.size() == kMaxSurroundingBytes) {
    return absl::ResourceExhaustedError("a list has too much data besides its objects");
  }
  surrounding_ += c;
  in_items_ = !in_string_ && c == '[' && depth_ == 1 && text_ == "items";
  Count(c);
  is_whole_ = depth_ == 0;
  return false;
}

StatusOr<bool> ListStream::TakeBetweenItems(char c) {
  if (c == '{') {
    item_ = c;
    Count(c);
  } else if (c == ']') {
    surrounding_ += c;
    in_items_ = false;
    Count(c);
  } else if (c != ',' && !IsBlank(c)) {
    return NoList();
  }
  return false;
}

void ListStream::Count(char c) {
  if (in_string_) {
    in_string_ = escaped_ || c != '"';
    escaped_ = !escaped_ && c == '\\';
    if (in_string_ && depth_ == 1) {
      text_ += c;
    }
  } else if (c == '"') {
    in_string_ = true;
    if (depth_ == 1) {
      text_.clear();
    }
  } else if (c == '{' || c == '[') {
    ++depth_;
  } else if (c == '}' || c == ']') {
    --depth_;
  }
}

}  // namespace podgpu
