#include "yaml/yaml_reading.h"

#include <algorithm>

#include "absl/strings/str_format.h"

namespace podgpu {
namespace {

constexpr size_t kLongestKeyBytes = 100;  // Limit in messages; names may be any text.

}  // namespace

YamlNode YamlReading::Parse(std::string_view text) {
  std::vector<YamlError> errors;
  YamlNode tree = ReadYaml(text, errors);
  for (const YamlError& error : errors) {
    Refuse(error.line, "", error.what);
  }
  return tree;
}

void YamlReading::Refuse(int line, std::string_view key, std::string_view what) {
  if (status_.ok()) {
    std::string message =
        absl::StrFormat("%s:%d: %s%s%s", path_, line, CleanUtf8(key.substr(0, kLongestKeyBytes)),
                        key.empty() ? "" : ": ", CleanUtf8(what));
    std::ranges::replace_if(
        message, [](char c) { return c >= 0 && c < ' '; }, ' ');
    status_ = absl::InvalidArgumentError(message);
  }
}

std::string YamlReading::Resolve(const std::string& file) const {
  const size_t slash = path_.rfind('/');
  return file.empty() || file.starts_with('/') || slash == std::string::npos
             ? file
             : path_.substr(0, slash + 1) + file;
}

std::string YamlEntry::Text() const {
  if (value.kind == YamlNode::Kind::kList || value.kind == YamlNode::Kind::kMap) {
    Refuse("must be a single text. Write it on one line, or as a block after |");
  }
  return value.text;
}

bool YamlEntry::Bool() const {
  const std::string text = Text();
  for (const std::string_view yes : {"true", "True", "TRUE", "yes", "Yes", "on", "On"}) {
    if (text == yes) {
      return true;
    }
  }
  for (const std::string_view no : {"false", "False", "FALSE", "no", "No", "off", "Off"}) {
    if (text == no) {
      return false;
    }
  }
  Refuse(absl::StrFormat("%s is neither true nor false. Write one of them", Quoted(text)));
  return false;
}

std::vector<YamlEntry> YamlEntry::List() const {
  std::vector<YamlEntry> entries;
  if (value.kind != YamlNode::Kind::kList && value.kind != YamlNode::Kind::kNull) {
    Refuse("must be a list. Write each item on its own line after a dash");
  }
  if (value.kind == YamlNode::Kind::kList) {
    entries.reserve(value.items.size());
    for (const YamlNode& item : value.items) {
      if (!reading.LeavesOut(item)) {
        entries.push_back({reading, item, key});
      }
    }
  }
  return entries;
}

std::vector<YamlEntry> YamlEntry::Map() const {
  std::vector<YamlEntry> entries;
  if (value.kind == YamlNode::Kind::kNull) {
    return entries;
  }
  if (value.kind != YamlNode::Kind::kMap) {
    Refuse("must hold keys with values. Write KEY: VALUE");
    return entries;
  }
  for (size_t i = 0; i < value.items.size(); ++i) {
    const YamlNode& name = value.keys[i];
    if (name.kind != YamlNode::Kind::kScalar) {
      reading.Refuse(name.line, key, "has a key that is not a text. Write KEY: VALUE");
      continue;
    }
    if (std::ranges::any_of(entries, [&](const YamlEntry& e) { return e.key == name.text; })) {
      reading.Refuse(name.line, key,
                     absl::StrFormat("%s is there twice. Remove one", Quoted(name.text)));
    }
    entries.push_back({reading, value.items[i], name.text});
  }
  return entries;
}

void YamlEntry::RefuseName(std::string_view text,
                           const std::vector<std::string_view>& names) const {
  std::string known;
  for (const std::string_view name : names) {
    absl::StrAppendFormat(&known, "%s%s", known.empty() ? "" : ", ", name);
  }
  Refuse(absl::StrFormat("%s is not known. Write one of %s", Quoted(text), known));
}

void YamlEntry::RefuseKey(const YamlEntry& entry,
                          const std::vector<std::string_view>& names) const {
  const std::optional<std::string_view> nearest = Nearest(entry.key, names);
  reading.Refuse(entry.value.line, key,
                 absl::StrFormat("unknown key %s%s. Correct or remove it", Quoted(entry.key),
                                 nearest ? absl::StrFormat("; nearest is %s", *nearest) : ""));
}

}  // namespace podgpu
