// Kubernetes' own Go client (tests/peer/clientgo) lists and watches the objects of a node's
// simulated API server: calls that work there also work on a real server.
#include <fstream>

#include <gtest/gtest.h>

#include "tests/e2e/sim_node.h"

namespace podgpu {
namespace {

TEST(ClientGo, ListsAndWatchesTheSimulatedApiServer) {
  const SimNode node(SimNode::Shipped("demo"), SimNode::Pace::kReal, {"--api-server"});
  ASSERT_TRUE(node.ready()) << node.output();
  std::vector<std::string> variables;
  std::ifstream file(node.directory() + "/api/env");
  for (std::string line; std::getline(file, line);) {
    variables.push_back(line);
  }
  Child client({"build/clientgo/clientgo"}, variables);
  EXPECT_EQ(client.Wait(), 0);
  EXPECT_NE(client.output().find("client-go: all checks passed"), std::string::npos)
      << client.output();
}

}  // namespace
}  // namespace podgpu
