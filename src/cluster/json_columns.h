// Writes JSON in columns: an array element by element, an object key by key, and tables of names.
//
// For answers about tens of thousands of devices, where a tree of JSON values would cost more than
// the text.  Each owns its text, except that NameTable keeps the keys as they are, which may be
// borrowed.  Plain data; used on one thread.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace podgpu {

// `text` as a string of JSON, with its quotes.
std::string JsonText(std::string_view text);

class JsonColumn {
 public:
  void Add(std::string_view json) {
    text_ += text_.empty() ? '[' : ',';
    text_ += json;
  }
  void AddNumber(int64_t number) { Add(std::to_string(number)); }
  void AddRounded(const std::optional<double>& number) {
    number ? AddNumber(std::llround(*number)) : Add("null");
  }
  void AddText(std::string_view text) { Add(JsonText(text)); }
  std::string Whole() const { return text_.empty() ? "[]" : text_ + ']'; }

 private:
  std::string text_;
};

class JsonObject {
 public:
  void Add(std::string_view key, std::string_view json);
  std::string Whole() const { return text_.empty() ? "{}" : text_ + '}'; }

 private:
  std::string text_;
};

inline size_t MixedHash(size_t first, size_t second) {
  constexpr size_t kOdd = 0x9E3779B97F4A7C15;
  return first * kOdd + second;
}

struct NameHash {
  size_t operator()(std::string_view name) const { return std::hash<std::string_view>()(name); }
  size_t operator()(const std::pair<std::string_view, std::string_view>& name) const {
    return MixedHash((*this)(name.first), (*this)(name.second));
  }
};

// A table of names; the index is the order of the first occurrence.
template <typename Key>
class NameTable {
 public:
  size_t IndexOf(const Key& key) {
    const auto [place, is_new] = indices_.try_emplace(key, names_.size());
    if (is_new) {
      names_.push_back(key);
    }
    return place->second;
  }
  const std::vector<Key>& names() const { return names_; }

 private:
  std::unordered_map<Key, size_t, NameHash> indices_;
  std::vector<Key> names_;
};

}  // namespace podgpu
