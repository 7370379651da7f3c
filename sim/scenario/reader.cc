#include "sim/scenario/reader.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <set>

#include "base/text.h"

namespace podgpu::sim {

namespace {

constexpr std::array<Unit, 5> kDurationUnits = {
    {{"us", 1}, {"ms", 1'000}, {"s", 1'000'000}, {"min", 60'000'000}, {"h", 3'600'000'000}}};
constexpr std::array<Unit, 1> kPercentUnits = {{{"%", 10'000}}};
constexpr std::array<Unit, 4> kByteUnits = {
    {{"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", INT64_C(1) << 40}}};
constexpr std::array<Unit, 3> kRateUnits = {
    {{"KB/s", 1'000}, {"MB/s", 1'000'000}, {"GB/s", 1'000'000'000}}};
constexpr std::array<Unit, 1> kMillionthsUnits = {{{"", 1'000'000}}};
constexpr int64_t kLongestDurationUs = INT64_C(100) * 366 * 24 * 3'600 * 1'000'000;
constexpr int64_t kMostBytes = INT64_C(1) << 50;
constexpr int64_t kMostBytesPerSecond = INT64_C(1'000'000'000'000);

// A decimal number times `size`, when that is a whole number that fits.
std::optional<int64_t> Scaled(std::string_view number, int64_t size) {
  const size_t dot = number.find('.');
  std::string digits(number.substr(0, dot));
  int64_t divisor = 1;
  if (dot != std::string_view::npos) {
    const std::string_view decimals = number.substr(dot + 1);
    if (decimals.empty() || decimals.size() > 9) {
      return std::nullopt;
    }
    digits += decimals;
    for (size_t i = 0; i < decimals.size(); ++i) {
      divisor *= 10;
    }
  }
  if (digits.empty() || digits.size() > 18 || dot == 0 ||
      digits.find_first_not_of("0123456789") != std::string::npos) {
    return std::nullopt;
  }
  __extension__ using Wide128 = __int128;
  const Wide128 product = static_cast<Wide128>(ParseDecimal(digits).value_or(0)) * size;
  if (product % divisor != 0 || product / divisor > std::numeric_limits<int64_t>::max()) {
    return std::nullopt;
  }
  return static_cast<int64_t>(product / divisor);
}

// Whether `text` is a valid name of a load or a class.
bool IsWord(std::string_view text) {
  constexpr size_t kMost = 63;
  return !text.empty() && text.size() <= kMost && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
  });
}

std::string Quoted(std::string_view text) {
  constexpr size_t kShown = 60;
  return "'" + Printable(text.substr(0, kShown)) + (text.size() > kShown ? "...'" : "'");
}

}  // namespace

std::string Printable(std::string_view text) {
  std::string printable(text);
  for (char& c : printable) {
    if (static_cast<unsigned char>(c) < ' ' || c == '\x7f') {
      c = '?';
    }
  }
  return CleanUtf8(printable);
}

std::string Join(std::span<const std::string_view> words) {
  std::string joined;
  for (const std::string_view word : words) {
    joined += joined.empty() ? "" : ", ";
    joined += word;
  }
  return joined;
}

void ScenarioErrors::Add(int line, int column, const std::string& path, const std::string& what) {
  std::string text = file_ + ":" + std::to_string(line) + ":" + std::to_string(column) + ": ";
  text += path.empty() ? what : path + ": " + what;
  lines_.push_back({line, column, std::move(text)});
}

std::vector<std::string> ScenarioErrors::Sorted() const {
  std::vector<Line> lines = lines_;
  std::stable_sort(lines.begin(), lines.end(), [](const Line& a, const Line& b) {
    return std::pair(a.line, a.column) < std::pair(b.line, b.column);
  });
  std::vector<std::string> texts;
  texts.reserve(lines.size());
  for (Line& line : lines) {
    texts.push_back(std::move(line.text));
  }
  return texts;
}

Place Cursor::place() const {
  return node_ == nullptr ? Place{parent_.line, parent_.column, path_}
                          : Place{node_->line, node_->column, path_};
}

void Cursor::Fail(const std::string& what) const {
  const Place at = place();
  errors_->Add(at.line, at.column, path_, what);
}

bool Cursor::ExpectKeys(std::span<const std::string_view> known) const {
  if (!present()) {
    return true;
  }
  if (!IsMap()) {
    Fail("must be a map with keys " + Join(known));
    return false;
  }
  std::vector<std::string_view> seen;
  for (const YamlNode& key : node_->keys) {
    if (key.kind != YamlNode::Kind::kScalar) {
      errors_->Add(key.line, key.column, path_, "a key must be a plain word");
      continue;
    }
    if (std::find(known.begin(), known.end(), key.text) == known.end()) {
      const auto nearest = Nearest(key.text, known);
      errors_->Add(key.line, key.column, path_,
                   "unknown key " + Quoted(key.text) +
                       (nearest ? "; nearest is '" + std::string(*nearest) + "'"
                                : "; allowed: " + Join(known)));
    } else if (std::find(seen.begin(), seen.end(), key.text) != seen.end()) {
      errors_->Add(key.line, key.column, path_, "key " + Quoted(key.text) + " is written twice");
    } else {
      seen.emplace_back(key.text);
    }
  }
  return true;
}

Cursor Cursor::Key(std::string_view key) const {
  std::string inner = path_.empty() ? std::string(key) : path_ + "." + std::string(key);
  Cursor found(nullptr, std::move(inner), *errors_);
  found.parent_ = place();
  if (IsMap()) {
    for (size_t i = 0; i < node_->keys.size() && i < node_->items.size(); ++i) {
      if (node_->keys[i].kind == YamlNode::Kind::kScalar && node_->keys[i].text == key) {
        found.node_ = &node_->items[i];
        break;
      }
    }
  }
  return found;
}

Cursor Cursor::Need(std::string_view key) const {
  Cursor found = Key(key);
  if (!found.present() && (IsMap() || !present())) {
    Fail("key '" + std::string(key) + "' is missing");
  }
  return found;
}

std::vector<Cursor> Cursor::Elements() const {
  std::vector<Cursor> elements;
  if (present() && !IsList()) {
    Fail("must be a list");
    return elements;
  }
  if (present()) {
    for (size_t i = 0; i < node_->items.size(); ++i) {
      elements.emplace_back(&node_->items[i], path_ + "[" + std::to_string(i) + "]", *errors_);
    }
  }
  return elements;
}

std::vector<std::pair<std::string, Cursor>> Cursor::Entries() const {
  std::vector<std::pair<std::string, Cursor>> entries;
  if (present() && !IsMap()) {
    Fail("must be a map");
    return entries;
  }
  if (!present()) {
    return entries;
  }
  std::set<std::string_view> seen;
  for (size_t i = 0; i < node_->keys.size() && i < node_->items.size(); ++i) {
    const YamlNode& key = node_->keys[i];
    if (key.kind != YamlNode::Kind::kScalar || !IsWord(key.text)) {
      errors_->Add(key.line, key.column, path_,
                   "a name must consist of letters, digits, '-', '_' and '.', at most 63 long");
    } else if (!seen.insert(key.text).second) {
      errors_->Add(key.line, key.column, path_, "key " + Quoted(key.text) + " is written twice");
    } else {
      entries.emplace_back(key.text, Cursor(&node_->items[i], path_ + "." + key.text, *errors_));
    }
  }
  return entries;
}

bool Cursor::TakeScalar(std::string_view allowed) const {
  if (!present()) {
    return false;
  }
  if (!IsScalar()) {
    Fail("must be " + std::string(allowed));
    return false;
  }
  return true;
}

std::string Cursor::Text(std::string_view otherwise) const {
  constexpr std::string_view kAllowed = "text of 1 to 200 printable characters";
  constexpr size_t kMost = 200;
  if (!TakeScalar(kAllowed)) {
    return std::string(otherwise);
  }
  const bool printable = std::all_of(node_->text.begin(), node_->text.end(),
                                     [](char c) { return c >= ' ' && c <= '~'; });
  if (!printable || node_->text.empty() || node_->text.size() > kMost) {
    Fail("found " + Quoted(node_->text) + "; must be " + std::string(kAllowed));
    return std::string(otherwise);
  }
  return node_->text;
}

int64_t Cursor::Integer(int64_t otherwise, int64_t least, int64_t most) const {
  const std::string allowed =
      "a whole number from " + std::to_string(least) + " to " + std::to_string(most);
  if (!TakeScalar(allowed)) {
    return otherwise;
  }
  const bool below = node_->text.starts_with('-');
  const auto size = Scaled(std::string_view(node_->text).substr(below ? 1 : 0), 1);
  const int64_t value = size.value_or(0) * (below ? -1 : 1);
  if (node_->text.find('.') != std::string::npos || !size || value < least || value > most) {
    Fail("found " + Quoted(node_->text) + "; must be " + allowed);
    return otherwise;
  }
  return value;
}

bool Cursor::Flag(bool otherwise) const {
  constexpr std::array<std::string_view, 2> kWords = {"false", "true"};
  return Choice(kWords, otherwise ? 1 : 0) == 1;
}

int64_t Cursor::Quantity(int64_t otherwise, std::span<const Unit> units,
                         std::string_view allowed) const {
  if (!TakeScalar(allowed)) {
    return otherwise;
  }
  const std::string_view text = node_->text;
  const size_t split = std::min(text.find_first_not_of("0123456789."), text.size());
  for (const Unit& unit : units) {
    if (text.substr(split) == unit.name) {
      if (const auto value = Scaled(text.substr(0, split), unit.size)) {
        return *value;
      }
    }
  }
  Fail("found " + Quoted(text) + "; must be " + std::string(allowed));
  return otherwise;
}

int64_t Cursor::Millionths(int64_t otherwise, int64_t least, int64_t most) const {
  const auto plain = [](int64_t value) {
    std::string digits = std::to_string(value / 1'000'000);
    if (value % 1'000'000 != 0) {
      std::string decimals = std::to_string(1'000'000 + value % 1'000'000).substr(1);
      decimals.erase(decimals.find_last_not_of('0') + 1);
      digits += "." + decimals;
    }
    return digits;
  };
  const std::string allowed = "a number from " + plain(least) + " to " + plain(most);
  const int64_t value = Quantity(otherwise, kMillionthsUnits, allowed);
  if (value != otherwise && (value < least || value > most)) {
    Fail("found " + Quoted(node_->text) + "; must be " + allowed);
    return otherwise;
  }
  return value;
}

int64_t Cursor::DurationUs(int64_t otherwise) const {
  constexpr std::string_view kAllowed =
      "a time with its unit (us, ms, s, min, h), at most 100 years";
  const int64_t value = Quantity(otherwise, kDurationUnits, kAllowed);
  if (value > kLongestDurationUs && value != otherwise) {
    Fail("found " + Quoted(node_->text) + "; must be " + std::string(kAllowed));
    return otherwise;
  }
  return value;
}

int64_t Cursor::Percent(int64_t otherwise) const {
  constexpr std::string_view kAllowed = "a percentage from 0% to 100%, with its sign";
  constexpr int64_t kWhole = 1'000'000;
  const int64_t value = Quantity(otherwise, kPercentUnits, kAllowed);
  if (value > kWhole) {
    Fail("found " + Quoted(node_->text) + "; must be " + std::string(kAllowed));
    return otherwise;
  }
  return value;
}

int64_t Cursor::Bytes(int64_t otherwise) const {
  constexpr std::string_view kAllowed =
      "a size with its unit (KiB, MiB, GiB, TiB), at most 1024TiB";
  const int64_t value = Quantity(otherwise, kByteUnits, kAllowed);
  if (value > kMostBytes) {
    Fail("found " + Quoted(node_->text) + "; must be " + std::string(kAllowed));
    return otherwise;
  }
  return value;
}

int64_t Cursor::BytesPerSecond(int64_t otherwise) const {
  constexpr std::string_view kAllowed = "a rate with its unit (KB/s, MB/s, GB/s), at most 1000GB/s";
  const int64_t value = Quantity(otherwise, kRateUnits, kAllowed);
  if (value > kMostBytesPerSecond) {
    Fail("found " + Quoted(node_->text) + "; must be " + std::string(kAllowed));
    return otherwise;
  }
  return value;
}

size_t Cursor::Choice(std::span<const std::string_view> allowed, size_t otherwise) const {
  const std::string sentence = "one of " + Join(allowed);
  if (!TakeScalar(sentence)) {
    return otherwise;
  }
  const auto found = std::find(allowed.begin(), allowed.end(), node_->text);
  if (found == allowed.end()) {
    const auto nearest = Nearest(node_->text, allowed);
    Fail("found " + Quoted(node_->text) + "; must be " + sentence +
         (nearest ? "; nearest is '" + std::string(*nearest) + "'" : ""));
    return otherwise;
  }
  return static_cast<size_t>(found - allowed.begin());
}

std::string Cursor::Name(std::string_view otherwise, size_t most) const {
  const std::string allowed = "a name of lower-case letters, digits, '-' and '.', at most " +
                              std::to_string(most) + " long";
  if (!TakeScalar(allowed)) {
    return std::string(otherwise);
  }
  const std::string& text = node_->text;
  const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  const bool good = !text.empty() && text.size() <= most && plain(text.front()) &&
                    plain(text.back()) && std::all_of(text.begin(), text.end(), [&](char c) {
                      return plain(c) || c == '-' || c == '.';
                    });
  if (!good) {
    Fail("found " + Quoted(text) + "; must be " + allowed);
    return std::string(otherwise);
  }
  return text;
}

}  // namespace podgpu::sim
