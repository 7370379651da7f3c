#include "cluster/node_web_config.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_format.h"

#include "base/text.h"
#include "yaml/yaml_tree.h"

namespace podgpu {
namespace {

// Reads one file.  It remembers the first mistake and continues, so no step needs an early return.
class AccessReader {
 public:
  AccessReader(const std::string& path, const Files& files) : path_(path), files_(files) {}

  StatusOr<NodeWebAccess> Read(const YamlNode& root) {
    ReadMap(root, "", &AccessReader::ReadSection,
            "tls_config, authorization, basic_auth, insecure_http");
    if (!user_.empty() && !access_.authorization.empty()) {
      Refuse(root.line, "authorization",
             "must not be set together with basic_auth. Remove one of them");
    }
    if (!user_.empty()) {
      access_.authorization = "Basic " + absl::Base64Escape(user_ + ":" + password_);
    }
    if (access_.tls && access_.tls->certificate.empty() != access_.tls->key.empty()) {
      Refuse(root.line, "tls_config", "needs cert_file and key_file together. Add the other one");
    }
    PODGPU_RETURN_IF_ERROR(status_);
    return access_;
  }

  void Refuse(int line, std::string_view key, std::string_view what) {
    if (status_.ok()) {
      std::string message = absl::StrFormat("%s:%d: %s%s%s", path_, line, CleanUtf8(key),
                                            key.empty() ? "" : ": ", CleanUtf8(what));
      std::ranges::replace_if(
          message, [](char c) { return c >= 0 && c < ' '; }, ' ');
      status_ = absl::InvalidArgumentError(message);
    }
  }
  const Status& status() const { return status_; }

 private:
  // Reads the value of one key; returns false if the section has no such key.
  using ReadKey = bool (AccessReader::*)(std::string_view name, const YamlNode& value,
                                         const std::string& key);

  bool ReadSection(std::string_view name, const YamlNode& value, const std::string& key) {
    if (name == "tls_config") {
      access_.tls.emplace();
      ReadMap(value, key, &AccessReader::ReadTls,
              "ca_file, cert_file, key_file, server_name, insecure_skip_verify");
    } else if (name == "authorization") {
      ReadMap(value, key, &AccessReader::ReadAuthorization, "credentials_file");
    } else if (name == "insecure_http") {
      access_.insecure_http = IsTrue(value, key);
    } else if (name == "basic_auth") {
      ReadMap(value, key, &AccessReader::ReadBasic, "username, password_file");
    } else {
      return false;
    }
    return true;
  }

  bool ReadTls(std::string_view name, const YamlNode& value, const std::string& key) {
    HttpClientTls& tls = *access_.tls;  // NOLINT(bugprone-unchecked-optional-access): just made.
    if (name == "ca_file") {
      tls.authorities = FileOf(value, key);
    } else if (name == "cert_file") {
      tls.certificate = FileOf(value, key);
    } else if (name == "key_file") {
      tls.key = FileOf(value, key);
    } else if (name == "server_name") {
      access_.server_name = TextOf(value, key);
    } else if (name == "insecure_skip_verify") {
      tls.trusts_anyone = IsTrue(value, key);
    } else {
      return false;
    }
    return true;
  }

  bool ReadAuthorization(std::string_view name, const YamlNode& value, const std::string& key) {
    if (name != "credentials_file") {
      return false;
    }
    access_.authorization = "Bearer " + SecretOf(value, key);
    return true;
  }

  bool ReadBasic(std::string_view name, const YamlNode& value, const std::string& key) {
    if (name == "username") {
      user_ = TextOf(value, key);
    } else if (name == "password_file") {
      password_ = SecretOf(value, key);
    } else {
      return false;
    }
    return true;
  }

  void ReadMap(const YamlNode& node, const std::string& section, ReadKey read,
               std::string_view known) {
    if (node.kind != YamlNode::Kind::kMap) {
      Refuse(node.line, section, "must hold keys with values. Write KEY: VALUE");
      return;
    }
    std::vector<std::string_view> seen;
    for (size_t i = 0; i < node.keys.size(); ++i) {
      const YamlNode& name = node.keys[i];
      const std::string key = section.empty() ? name.text : section + "." + name.text;
      if (std::ranges::count(seen, name.text) > 0) {
        Refuse(name.line, section, Quoted(name.text) + " is set twice. Remove one of them");
      } else if (!(this->*read)(name.text, node.items[i], key)) {
        Refuse(name.line, section,
               absl::StrFormat("%s is not known. Write one of %s", Quoted(name.text), known));
      }
      seen.push_back(name.text);
    }
  }

  std::string TextOf(const YamlNode& value, const std::string& key) {
    if (value.kind != YamlNode::Kind::kScalar || value.text.empty()) {
      Refuse(value.line, key, "must be a text. Write it after the key");
    }
    return value.text;
  }

  bool IsTrue(const YamlNode& value, const std::string& key) {
    const std::string text = TextOf(value, key);
    if (text != "true" && text != "false") {
      Refuse(value.line, key, "must be true or false");
    }
    return text == "true";
  }

  std::string FileOf(const YamlNode& value, const std::string& key) {
    const std::string name = TextOf(value, key);
    const size_t slash = path_.rfind('/');
    const bool is_whole = name.starts_with('/') || slash == std::string::npos;
    const StatusOr<std::string> text =
        files_.Read(is_whole ? name : path_.substr(0, slash + 1) + name);
    if (!text.ok()) {
      Refuse(value.line, key,
             std::string(text.status().message()) + ". Mount the file, or name another file");
      return {};
    }
    return *text;
  }

  // Returns the content of the named file without the final newline that editors add.
  std::string SecretOf(const YamlNode& value, const std::string& key) {
    const std::string text = FileOf(value, key);
    std::string secret(Trim(text));
    if (secret.empty() || secret.find_first_of("\r\n") != std::string::npos) {
      Refuse(value.line, key, "the file must have exactly one line, the secret");
    }
    return secret;
  }

  const std::string path_;
  const Files& files_;
  NodeWebAccess access_;
  std::string user_, password_;
  Status status_;
};

}  // namespace

StatusOr<NodeWebAccess> ReadNodeWebConfig(const std::string& path, const Files& files) {
  const StatusOr<std::string> text = files.Read(path);
  if (!text.ok()) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "--node-web-config: %s. Mount the file, or name another file", text.status().message()));
  }
  std::vector<YamlError> errors;
  const YamlNode root = ReadYaml(*text, errors);
  AccessReader reader(path, files);
  if (!errors.empty()) {
    reader.Refuse(errors.front().line, "", errors.front().what);
    return reader.status();
  }
  if (root.kind == YamlNode::Kind::kNull) {
    return NodeWebAccess();
  }
  return reader.Read(root);
}

Status CheckSecrecy(const NodeWebAccess& access, const std::string& path) {
  if (access.authorization.empty() || access.tls || access.insecure_http) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrFormat("%s: the token or password would be sent over plain HTTP, where others on "
                      "the network can read it. Add tls_config, or write insecure_http: true",
                      path));
}

}  // namespace podgpu
