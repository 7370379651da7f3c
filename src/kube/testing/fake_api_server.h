// The simulator's API server (sim/kube/api_server.h) in a test's own process, reached as the
// program reaches one: by options with a certificate and a token in files.  For tests only; thread
// safe.
#pragma once

#include <string>
#include <string_view>

#include "kube/api_server.h"
#include "sim/kube/api_server.h"

namespace podgpu {

inline constexpr std::string_view kFakePods = sim::kPodsPath;

class FakeApiServer : public sim::FakeApi {
 public:
  // How a client reaches it; certificate and token are written into `directory`.
  ApiServerOptions Options(const std::string& directory) const;
};

}  // namespace podgpu
