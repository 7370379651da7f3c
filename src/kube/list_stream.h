// Splits a list of the API server into its objects while its bytes arrive.
//
// A list of 10,000 pods has tens of megabytes; only one object of it is in memory at a time, and
// the text around the objects: kind, version, the token of the next page. Only braces, brackets and
// strings are examined; the parser checks the JSON. An object or surrounding text above its limit
// ends the stream. One thread.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"

namespace podgpu {

class ListStream {
 public:
  explicit ListStream(size_t max_item_bytes) : max_item_bytes_(max_item_bytes) {}

  void Append(std::string_view bytes);

  // Returns the next complete object of `items`, nothing while there is none, or kDataLoss or
  // kResourceExhausted at every call once the stream is broken. The view is valid until the next
  // call of Append or Next.
  StatusOr<std::optional<std::string_view>> Next();

  // Returns the list without its objects after it has arrived completely; otherwise kDataLoss.
  StatusOr<std::string_view> Surrounding() const;

 private:
  // Takes one byte; returns true when it ends an object of the list.
  StatusOr<bool> Take(char c);
  StatusOr<bool> TakeBetweenItems(char c);
  // Keeps track of braces, brackets and strings.
  void Count(char c);

  const size_t max_item_bytes_;
  std::string buffer_;  // Received bytes; those from `taken_` on are unread.
  size_t taken_ = 0;
  std::string item_;         // The object that is being read.
  std::string surrounding_;  // The text around the objects.
  std::string text_;         // The last string directly in the list: a key, if '[' follows.
  size_t depth_ = 0;         // 1: in the list, 2: in `items`.
  bool in_items_ = false;
  bool in_string_ = false;
  bool escaped_ = false;
  bool is_whole_ = false;
  Status broken_;
};

}  // namespace podgpu
