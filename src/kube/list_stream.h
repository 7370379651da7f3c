// Cuts a list of the API server into the objects that stand in it, while its bytes come.
//
// A list of 10,000 pods has tens of megabytes; of these only one object is held at a time, and what
// stands around the objects: kind, version, the token of the next page.  Only braces, brackets and
// strings are looked at; whether an object is good JSON is for the parser to say.  An object or a
// surrounding above its limit ends the stream.  One thread.
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

  // The next whole object of `items`; nothing while there is none, kDataLoss or kResourceExhausted
  // at every call once the stream is broken.  The view is good until the next call of either.
  StatusOr<std::optional<std::string_view>> Next();

  // The list without its objects, once it has come whole; else kDataLoss.
  StatusOr<std::string_view> Surrounding() const;

 private:
  // Takes one byte; true when it ends an object of the list.
  StatusOr<bool> Take(char c);
  StatusOr<bool> TakeBetweenItems(char c);
  // Follows braces, brackets and strings.
  void Count(char c);

  const size_t max_item_bytes_;
  std::string buffer_;  // What has come and is not yet taken, from `taken_` on.
  size_t taken_ = 0;
  std::string item_;         // The object that is being taken.
  std::string surrounding_;  // The rest.
  std::string text_;         // The last string directly in the list: a key, where '[' comes next.
  size_t depth_ = 0;         // 1: in the list, 2: in `items`.
  bool in_items_ = false;
  bool in_string_ = false;
  bool escaped_ = false;
  bool is_whole_ = false;
  Status broken_;
};

}  // namespace podgpu
