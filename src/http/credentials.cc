#include "http/credentials.h"

#include <algorithm>

#include <openssl/crypto.h>
#include <openssl/evp.h>

namespace podgpu {
namespace {

// Decodes standard base64 with padding; nothing else.
std::optional<std::string> DecodeBase64(std::string_view text) {
  const size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  const auto is_symbol = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '+' ||
           c == '/';
  };
  if (text.empty() || text.size() % 4 != 0 ||
      !std::ranges::all_of(text.substr(0, text.size() - padding), is_symbol)) {
    return std::nullopt;
  }
  std::string bytes(text.size() / 4 * 3, '\0');
  const int count = EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                                    reinterpret_cast<const unsigned char*>(text.data()),
                                    static_cast<int>(text.size()));
  if (count < 0) {
    return std::nullopt;
  }
  bytes.resize(static_cast<size_t>(count) - padding);
  return bytes;
}

}  // namespace

std::optional<Credentials> ReadBasicCredentials(std::string_view authorization) {
  constexpr std::string_view kScheme = "basic ";
  const auto is_same_letter = [](char a, char b) {
    return (a >= 'A' && a <= 'Z' ? static_cast<char>(a + ('a' - 'A')) : a) == b;
  };
  if (authorization.size() < kScheme.size() ||
      !std::ranges::equal(authorization.substr(0, kScheme.size()), kScheme, is_same_letter)) {
    return std::nullopt;
  }
  const std::optional<std::string> pair = DecodeBase64(authorization.substr(kScheme.size()));
  if (!pair) {
    return std::nullopt;
  }
  const size_t colon = pair->find(':');
  if (colon == std::string::npos) {
    return std::nullopt;
  }
  return Credentials{.user = pair->substr(0, colon), .password = pair->substr(colon + 1)};
}

bool AreEqualInConstantTime(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace podgpu
