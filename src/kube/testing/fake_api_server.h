// The simulator's API server (sim/kube/api_server.h) in the test's process. Clients reach it as the
// program reaches a real one: with options, and with certificate and token in files. For tests
// only; thread safe.
#pragma once

#include <string>
#include <string_view>

#include "base/testing/temporary_folder.h"
#include "kube/api_server.h"
#include "sim/kube/api_server.h"

namespace podgpu {

inline constexpr std::string_view kFakePods = sim::kPodsPath;

class FakeApiServer : public sim::FakeApi {
 public:
  // Returns the options for a client; writes certificate and token to `directory`.
  ApiServerOptions Options(const std::string& directory) const;
  // The same, with a folder of its own.
  ApiServerOptions Options() const { return Options(folder_.path()); }
  const TemporaryFolder& folder() const { return folder_; }

 private:
  TemporaryFolder folder_;
};

}  // namespace podgpu
