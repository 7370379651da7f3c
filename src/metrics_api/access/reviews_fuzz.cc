// Fuzzes the readers of both reviews. Invariants: a "yes" names a user, comes only from an answer
// of the right kind that says so in as many words; texts are clean; an error is one line.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/text.h"
#include "metrics_api/access/reviews.h"

namespace {

void CheckVerdict(const podgpu::StatusOr<podgpu::ReviewVerdict>& verdict, std::string_view json,
                  std::string_view word) {
  if (!verdict.ok()) {
    PODGPU_CHECK(std::string(verdict.status().message()).find('\n') == std::string::npos);
    return;
  }
  PODGPU_CHECK(podgpu::CleanUtf8(verdict->reason) == verdict->reason);
  PODGPU_CHECK(podgpu::CleanUtf8(verdict->identity.user) == verdict->identity.user);
  if (verdict->is_granted && json.find('\\') == std::string_view::npos) {
    PODGPU_CHECK(json.find(word) != std::string_view::npos);
    PODGPU_CHECK(json.find("true") != std::string_view::npos);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view json(reinterpret_cast<const char*>(data), size);
  const auto token = podgpu::ReadTokenReview(json);
  CheckVerdict(token, json, "authenticated");
  PODGPU_CHECK(!token.ok() || !token->is_granted || !token->identity.user.empty());
  const auto access = podgpu::ReadAccessReview(json);
  CheckVerdict(access, json, "allowed");
  PODGPU_CHECK(!token.ok() || !access.ok());
  return 0;
}
