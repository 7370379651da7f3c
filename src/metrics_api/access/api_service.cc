#include "metrics_api/access/api_service.h"

#include <boost/json.hpp>
#include <openssl/evp.h>

#include "base/text.h"

namespace podgpu {
namespace {

std::string Base64(const std::string& bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');
  const int length = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                                     reinterpret_cast<const unsigned char*>(bytes.data()),
                                     static_cast<int>(bytes.size()));
  text.resize(static_cast<size_t>(length));
  return text;
}

// Returns the bytes; empty for other text.
std::string FromBase64(const std::string& text) {
  constexpr size_t kLongest = size_t{1} << 20;
  if (text.empty() || text.size() % 4 != 0 || text.size() > kLongest) {
    return {};
  }
  std::string bytes(text.size() / 4 * 3, '\0');
  const int length = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                                     reinterpret_cast<const unsigned char*>(text.data()),
                                     static_cast<int>(text.size()));
  const size_t padding = text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
  bytes.resize(length < 0 ? 0 : static_cast<size_t>(length) - padding);
  return bytes;
}

std::string StringAt(const boost::json::value& root, const char* pointer) {
  boost::system::error_code error;
  const boost::json::value* const found = root.find_pointer(pointer, error);
  const boost::json::string* const text = found == nullptr ? nullptr : found->if_string();
  return text == nullptr ? std::string() : CleanUtf8({text->data(), text->size()});
}

}  // namespace

StatusOr<ApiServiceObject> ReadApiService(std::string_view json) {
  boost::system::error_code error;
  const boost::json::value root = boost::json::parse({json.data(), json.size()}, error);
  if (error || !root.is_object() || StringAt(root, "/kind") != "APIService") {
    return absl::DataLossError("the answer of the API server is not an APIService");
  }
  ApiServiceObject object;
  object.resource_version = StringAt(root, "/metadata/resourceVersion");
  object.service = {StringAt(root, "/spec/service/name"),
                    StringAt(root, "/spec/service/namespace")};
  object.authorities = FromBase64(StringAt(root, "/spec/caBundle"));
  const boost::json::value* const skips = root.find_pointer("/spec/insecureSkipTLSVerify", error);
  object.skips_verification = skips != nullptr && skips->is_bool() && skips->get_bool();
  return object;
}

std::string AuthoritiesPatch(const std::string& resource_version, const std::string& authorities) {
  return boost::json::serialize(
      boost::json::object{{"metadata", {{"resourceVersion", resource_version}}},
                          {"spec", {{"caBundle", Base64(authorities)}}}});
}

}  // namespace podgpu
