#include "report/node_status.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <concepts>

#include "report/status_members.h"

namespace podgpu {
namespace {

constexpr std::array<double, 7> kPowersOfTen = {1, 10, 100, 1e3, 1e4, 1e5, 1e6};

// Appends JSON text directly: a tree of JSON values costs ten times as much, and a viewer asks each
// second.
class StatusWriter {
 public:
  explicit StatusWriter(std::string& out) : out_(out) {}

  template <StatusStruct Struct>
  void Write(const Struct& from, std::string_view head = {}) {
    out_ += '{';
    out_ += head;
    WriteMembers(from);
    out_ += '}';
  }

 private:
  template <typename Struct>
  void WriteMembers(const Struct& from) {
    std::apply([&](const auto&... member) { (WriteMember(member, from.*member.at), ...); },
               kStatusMembers<Struct>);
  }

  template <typename Struct, typename Type>
  void WriteMember(const Member<Struct, Type>& member, const Type& value) {
    if constexpr (StatusStruct<Type>) {
      if (member.key.empty()) {
        WriteMembers(value);
        return;
      }
    }
    if (member.presence == Presence::kRequired || !IsEmpty(value)) {
      AppendKey(member.key);
      Append(value, member.range);
    }
  }

  void AppendKey(std::string_view key) {
    if (out_.back() != '{') {
      out_ += ',';
    }
    out_ += '"';
    out_ += key;
    out_ += "\":";
  }

  template <typename Type>
  static bool IsEmpty(const Type& value) {
    if constexpr (std::same_as<Type, std::optional<double>>) {
      return !value || !std::isfinite(*value);
    } else if constexpr (requires { value.has_value(); }) {
      return !value.has_value();
    } else {
      return value == Type();
    }
  }

  template <StatusStruct Struct>
  void Append(const Struct& value, const MemberRange& /*range*/) {
    Write(value);
  }
  template <typename Type>
  void Append(const std::optional<Type>& value, const MemberRange& range) {
    if (value) {
      Append(*value, range);
    }
  }
  template <typename Type>
  void Append(const std::vector<Type>& values, const MemberRange& range) {
    out_ += '[';
    for (const Type& value : values) {
      if (out_.back() != '[') {
        out_ += ',';
      }
      Append(value, range);
    }
    out_ += ']';
  }

  void Append(bool value, const MemberRange& /*range*/) { out_ += value ? "true" : "false"; }

  template <std::integral Integer>
  void Append(Integer value, const MemberRange& /*range*/) {
    std::array<char, 24> digits{};
    const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
    out_.append(digits.data(), end);
  }

  // Rounds to the member's decimals and leaves out zeros at the end.
  void Append(double value, const MemberRange& range) {
    const double in_range = std::clamp(value, 0.0, range.most);
    const auto scale = static_cast<uint64_t>(kPowersOfTen.at(static_cast<size_t>(range.decimals)));
    const auto scaled = static_cast<uint64_t>(std::llround(in_range * static_cast<double>(scale)));
    Append(scaled / scale, range);
    uint64_t fraction = scaled % scale;
    if (fraction == 0) {
      return;
    }
    out_ += '.';
    for (uint64_t place = scale / 10; fraction > 0; place /= 10) {
      out_ += static_cast<char>('0' + fraction / place);
      fraction %= place;
    }
  }

  // All texts are valid UTF-8: they were cleaned where they entered podgpu.
  void Append(const std::string& text, const MemberRange& /*range*/) {
    out_ += '"';
    const auto needs_escape = [](char character) {
      return static_cast<unsigned char>(character) < 0x20 || character == '"' || character == '\\';
    };
    auto begin = text.begin();
    for (auto at = std::find_if(begin, text.end(), needs_escape); at != text.end();
         at = std::find_if(begin, text.end(), needs_escape)) {
      out_.append(begin, at);
      AppendEscaped(*at);
      begin = at + 1;
    }
    out_.append(begin, text.end());
    out_ += '"';
  }

  void AppendEscaped(char character) {
    constexpr std::string_view kHex = "0123456789abcdef";
    const auto byte = static_cast<unsigned char>(character);
    if (byte >= 0x20) {
      out_ += '\\';
      out_ += character;
      return;
    }
    out_ += "\\u00";
    out_ += kHex[byte >> 4];
    out_ += kHex[byte & 15];
  }

  std::string& out_;
};

}  // namespace

std::string WriteNodeStatus(const NodeStatus& status) {
  constexpr size_t kUsualBytes = 12'288;
  std::string json;
  json.reserve(kUsualBytes);
  StatusWriter(json).Write(status, "\"schema\":" + std::to_string(kNodeStatusSchema));
  json += '\n';
  return json;
}

}  // namespace podgpu
