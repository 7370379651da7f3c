// Fuzzes the reader of the ConfigMap, from the API server's JSON on. Invariants: a read config has
// an authority and bounded names; an error is one line.
#include <cstdint>
#include <string_view>

#include "kube/api_object.h"
#include "metrics_api/access/authentication_config.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view json(reinterpret_cast<const char*>(data), size);
  const auto object = podgpu::ParseApiObject(json);
  if (!object.ok()) {
    return 0;
  }
  const auto config = podgpu::ReadAuthenticationConfig(object->authentication);
  if (!config.ok()) {
    const std::string_view line(config.status().message().data(), config.status().message().size());
    PODGPU_CHECK(!line.empty() && line.find('\n') == std::string_view::npos);
    return 0;
  }
  PODGPU_CHECK(!config->client_authorities.empty() || !config->proxy_authorities.empty());
  for (const auto* names : {&config->allowed_names, &config->user_headers, &config->group_headers,
                            &config->uid_headers, &config->extra_prefixes}) {
    PODGPU_CHECK(names->size() <= 64);
    for (const std::string& name : *names) {
      PODGPU_CHECK(!name.empty());
    }
  }
  return 0;
}
