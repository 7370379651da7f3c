#include "metrics_api/access/authentication_config.h"

#include "absl/strings/str_format.h"
#include <boost/json.hpp>

#include "base/text.h"
#include "http/certificates.h"

namespace podgpu {
namespace {

constexpr size_t kMostNames = 64;
constexpr size_t kLongestName = 256;

std::string DataOf(const std::map<std::string, std::string>& data, const char* key) {
  const auto found = data.find(key);
  return found == data.end() ? std::string() : found->second;
}

// Reads a JSON list of texts; an absent key is an empty list.
StatusOr<std::vector<std::string>> NamesIn(const std::map<std::string, std::string>& data,
                                           const char* key) {
  std::vector<std::string> names;
  const std::string text = DataOf(data, key);
  if (Trim(text).empty()) {
    return names;
  }
  boost::system::error_code error;
  const boost::json::value value = boost::json::parse(text, error);
  const boost::json::array* const list = error ? nullptr : value.if_array();
  const Status wrong = absl::InvalidArgumentError(
      absl::StrFormat("the key %s is not a JSON list of at most %d names", key, kMostNames));
  if (list == nullptr || list->size() > kMostNames) {
    return wrong;
  }
  for (const boost::json::value& one : *list) {
    const boost::json::string* const name = one.if_string();
    if (name == nullptr || name->empty() || name->size() > kLongestName) {
      return wrong;
    }
    names.emplace_back(name->data(), name->size());
  }
  return names;
}

StatusOr<std::string> AuthoritiesIn(const std::map<std::string, std::string>& data,
                                    const char* key) {
  std::string pem = DataOf(data, key);
  if (Trim(pem).empty()) {
    return std::string();
  }
  if (const auto read = ReadCertificates(pem); !read.ok()) {
    return absl::InvalidArgumentError(
        absl::StrFormat("the key %s %s", key, read.status().message()));
  }
  return pem;
}

}  // namespace

StatusOr<AuthenticationConfig> ReadAuthenticationConfig(
    const std::map<std::string, std::string>& data) {
  AuthenticationConfig config;
  PODGPU_ASSIGN_OR_RETURN(config.client_authorities, AuthoritiesIn(data, "client-ca-file"));
  PODGPU_ASSIGN_OR_RETURN(config.proxy_authorities,
                          AuthoritiesIn(data, "requestheader-client-ca-file"));
  PODGPU_ASSIGN_OR_RETURN(config.allowed_names, NamesIn(data, "requestheader-allowed-names"));
  PODGPU_ASSIGN_OR_RETURN(config.user_headers, NamesIn(data, "requestheader-username-headers"));
  PODGPU_ASSIGN_OR_RETURN(config.uid_headers, NamesIn(data, "requestheader-uid-headers"));
  PODGPU_ASSIGN_OR_RETURN(config.group_headers, NamesIn(data, "requestheader-group-headers"));
  PODGPU_ASSIGN_OR_RETURN(config.extra_prefixes,
                          NamesIn(data, "requestheader-extra-headers-prefix"));
  if (config.client_authorities.empty() && config.proxy_authorities.empty()) {
    return absl::InvalidArgumentError(
        "it has neither requestheader-client-ca-file nor client-ca-file");
  }
  return config;
}

}  // namespace podgpu
