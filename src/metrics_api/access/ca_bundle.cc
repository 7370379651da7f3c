#include "metrics_api/access/ca_bundle.h"

#include <algorithm>
#include <string_view>

#include "base/text.h"
#include "http/certificates.h"

namespace podgpu {
namespace {

struct BundledAuthority {
  std::string pem;  // Without blanks at the ends.
  int64_t expires_s = 0;
  bool is_own = false;
};

// The blocks of a PEM text; other text between them is dropped.
std::vector<std::string> PemBlocks(std::string_view text) {
  constexpr std::string_view kBegin = "-----BEGIN CERTIFICATE-----";
  constexpr std::string_view kEnd = "-----END CERTIFICATE-----";
  std::vector<std::string> blocks;
  for (size_t at = text.find(kBegin); at != std::string_view::npos; at = text.find(kBegin, at)) {
    const size_t end = text.find(kEnd, at);
    if (end == std::string_view::npos) {
      break;
    }
    blocks.emplace_back(text.substr(at, end + kEnd.size() - at));
    at = end;
  }
  return blocks;
}

// Adds a certificate unless it is there; returns false if it is not one.
bool AddAuthority(const std::string& pem, bool is_own, std::vector<BundledAuthority>& all) {
  const auto read = ReadCertificates(pem);
  if (!read.ok()) {
    return false;
  }
  const std::string trimmed(Trim(pem));
  const auto same = std::ranges::find(all, trimmed, &BundledAuthority::pem);
  if (same != all.end()) {
    same->is_own = same->is_own || is_own;
  } else {
    all.push_back({trimmed, ExpiresAt(*read->front()), is_own});
  }
  return true;
}

std::string JoinAuthorities(const std::vector<BundledAuthority>& all) {
  std::string text;
  for (const BundledAuthority& one : all) {
    text += one.pem + "\n";
  }
  return text;
}

}  // namespace

StatusOr<std::string> MergeAuthorities(const std::string& bundle,
                                       const std::vector<std::string>& own, int64_t now_s) {
  std::vector<BundledAuthority> all;
  size_t blocks = 0;
  for (const std::string& block : PemBlocks(bundle)) {
    ++blocks;
    AddAuthority(block, false, all);
  }
  std::erase_if(all, [now_s](const BundledAuthority& one) { return one.expires_s <= now_s; });
  bool is_same = all.size() == blocks;
  for (const std::string& pem : own) {
    const size_t before = all.size();
    if (!AddAuthority(pem, true, all)) {
      return absl::InvalidArgumentError("the own authority is not a certificate");
    }
    is_same = is_same && all.size() == before;
  }
  while (all.size() > kMostAuthorities) {
    const auto first = std::ranges::min_element(
        all, {}, [](const BundledAuthority& one) { return std::pair(one.is_own, one.expires_s); });
    all.erase(first);
    is_same = false;
  }
  return is_same ? bundle : JoinAuthorities(all);
}

}  // namespace podgpu
