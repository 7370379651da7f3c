// A web configuration, as an operator writes it. Invariants: an accepted file contains only hashes
// that can be checked, headers that fit a line, and TLS with certificate and key; an error is one
// line of valid text that begins with the file and an existing line number.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/text.h"
#include "http/web_config.h"

namespace {

void CheckComplaint(std::string_view text, const podgpu::Status& status) {
  const std::string message(status.message());
  PODGPU_CHECK(status.code() == absl::StatusCode::kInvalidArgument);
  PODGPU_CHECK(message.starts_with("/etc/web.yaml:"));
  PODGPU_CHECK(podgpu::CleanUtf8(message) == message && message.size() < 1'000);
  PODGPU_CHECK(std::ranges::none_of(message, [](char c) { return c >= 0 && c < ' '; }));
  const std::string_view rest = std::string_view(message).substr(14);
  const std::optional<uint64_t> line = podgpu::ParseDecimal(rest.substr(0, rest.find(':')));
  // YAML ends lines with \n, \r\n or \r; an error may be after the last one.
  const auto ends = std::ranges::count_if(text, [](char c) { return c == '\n' || c == '\r'; });
  PODGPU_CHECK(line.has_value() && *line >= 1 && *line <= static_cast<uint64_t>(ends) + 2);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const podgpu::StatusOr<podgpu::WebConfig> config = podgpu::ParseWebConfig(text, "/etc/web.yaml");
  if (!config.ok()) {
    CheckComplaint(text, config.status());
    return 0;
  }
  for (const auto& [name, hash] : config->users) {
    PODGPU_CHECK(podgpu::IsBcryptHash(hash));
    PODGPU_CHECK(podgpu::BcryptCost(hash) <= podgpu::kHighestBcryptCost);
  }
  for (const auto& [name, value] : config->headers) {
    PODGPU_CHECK(!name.empty() && !value.empty());
  }
  if (config->tls) {
    PODGPU_CHECK(config->tls->certificate.is_given() && config->tls->key.is_given());
    PODGPU_CHECK(config->tls->min_version <= config->tls->max_version);
    PODGPU_CHECK(config->tls->client_ca.file.empty() || config->tls->client_ca.file[0] == '/');
  }
  PODGPU_CHECK(config->rate_limit.interval.count() >= 0 && config->rate_limit.burst >= 0);
  return 0;
}
