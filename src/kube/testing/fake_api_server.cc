#include "kube/testing/fake_api_server.h"

#include "base/status.h"

namespace podgpu {

ApiServerOptions FakeApiServer::Options(const std::string& directory) const {
  PODGPU_CHECK(WriteCredentials(directory));
  ApiServerOptions options;
  options.host = "127.0.0.1";
  options.port = std::to_string(port());
  options.node = "node-a";
  options.token_path = directory + "/token";
  options.certificate_path = directory + "/ca.crt";
  return options;
}

}  // namespace podgpu
