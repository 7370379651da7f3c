#include "cluster/node_web_config.h"

#include <gtest/gtest.h>

#include "http/testing/web_config_files.h"

namespace podgpu {
namespace {

StatusOr<NodeWebAccess> AccessOf(const WebConfigFiles& files, std::string_view text) {
  files.Write(text);
  return ReadNodeWebConfig(files.path(), SystemFiles());
}

TEST(NodeWebConfig, IsReadWithTheFilesThatItNames) {
  const WebConfigFiles files;
  files.Write("authority", "ca.crt");
  files.Write("certificate", "own.crt");
  files.Write("key", "own.key");
  files.Write("t0ken\n", "token");
  const auto access = AccessOf(
      files,
      "tls_config:\n  ca_file: ca.crt\n  cert_file: own.crt\n  key_file: " + files.path("own.key") +
          "\n  server_name: gpu\n  insecure_skip_verify: false\n"
          "authorization: {credentials_file: token}\n");
  ASSERT_TRUE(access.ok()) << access.status();
  const HttpClientTls tls{"authority", "certificate", "key", false};
  EXPECT_EQ(*access, (NodeWebAccess{tls, "gpu", "Bearer t0ken", false}));
}

TEST(NodeWebConfig, MayHoldAPasswordOrNothing) {
  const WebConfigFiles files;
  files.Write("open sesame", "password");
  EXPECT_EQ(AccessOf(files, "basic_auth: {username: ali, password_file: password}")->authorization,
            "Basic YWxpOm9wZW4gc2VzYW1l");
  EXPECT_EQ(AccessOf(files, "").value(), NodeWebAccess());
}

// Anyone on the network path could read the secret of all nodes.
TEST(NodeWebConfig, ASecretIsSentWithoutTlsOnlyIfTheFileAllowsIt) {
  const WebConfigFiles files;
  files.Write("t0ken", "token");
  struct Row {
    std::string_view text;
    bool may;
  };
  const Row rows[] = {
      {"authorization: {credentials_file: token}", false},
      {"basic_auth: {username: a, password_file: token}", false},
      {"insecure_http: false\nauthorization: {credentials_file: token}", false},
      {"insecure_http: true\nauthorization: {credentials_file: token}", true},
      {"tls_config: {}\nauthorization: {credentials_file: token}", true},
      {"", true},
  };
  for (const Row& row : rows) {
    const auto access = AccessOf(files, row.text);
    ASSERT_TRUE(access.ok()) << access.status();
    EXPECT_EQ(CheckSecrecy(*access, "/c").ok(), row.may) << row.text;
  }
  EXPECT_EQ(CheckSecrecy(*AccessOf(files, rows[0].text), "/c").message(),
            "/c: the token or password would be sent over plain HTTP, where others on the network "
            "can read it. Add tls_config, or write insecure_http: true");
}

TEST(NodeWebConfig, NamesFileLineAndRemedyOfAMistake) {
  const WebConfigFiles files;
  files.Write("", "empty");
  files.Write("x", "x");
  const std::pair<std::string_view, std::string_view> rows[] = {
      {"- a", ":1: must hold keys with values. Write KEY: VALUE"},
      {"\ntls: {}",
       ":2: \"tls\" is not known. Write one of tls_config, authorization, basic_auth, "
       "insecure_http"},
      {"tls_config:\n  ca: x",
       ":2: tls_config: \"ca\" is not known. Write one of ca_file, cert_file, key_file, "
       "server_name, insecure_skip_verify"},
      {"tls_config: 7", ":1: tls_config: must hold keys with values. Write KEY: VALUE"},
      {"tls_config: {insecure_skip_verify: 1}",
       ":1: tls_config.insecure_skip_verify: must be true or false"},
      {"insecure_http: yes", ":1: insecure_http: must be true or false"},
      {"tls_config: {cert_file: x}",
       ":1: tls_config: needs cert_file and key_file together. Add the other one"},
      {"authorization: {credentials_file: empty}",
       ":1: authorization.credentials_file: the file must have exactly one line, the secret"},
      {"authorization: {credentials_file: []}",
       ":1: authorization.credentials_file: must be a text. Write it after the key"},
      {"basic_auth: {username: a, username: b}",
       ":1: basic_auth: \"username\" is set twice. Remove one of them"},
      {"authorization: {credentials_file: x}\nbasic_auth: {username: a, password_file: x}",
       ":1: authorization: must not be set together with basic_auth. Remove one of them"},
  };
  for (const auto& [text, line] : rows) {
    const auto access = AccessOf(files, text);
    EXPECT_EQ(access.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_EQ(std::string(access.status().message()), files.path() + std::string(line));
  }
  const auto missing = AccessOf(files, "tls_config: {ca_file: /nowhere}");
  EXPECT_EQ(std::string(missing.status().message()),
            files.path() +
                ":1: tls_config.ca_file: /nowhere: No such file or directory. Mount the "
                "file, or name another file");
  EXPECT_EQ(ReadNodeWebConfig("/nowhere", SystemFiles()).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace podgpu
