// A misspelt variable must not lose a setting without a word.
#include <gtest/gtest.h>

#include "cli/flags.h"

namespace podgpu {
namespace {

TEST(UnknownVariables, AreNamedWithTheNearestOne) {
  EXPECT_EQ(UnknownVariables(std::vector<std::string>{
                "PATH", "DCGM_EXPORTER_LISTEN", "DCGM_EXPORTER_LISTENS", "PODGPU_LISTENS",
                // What Kubernetes makes from Services of that name.
                "DCGM_EXPORTER_SERVICE_HOST", "DCGM_EXPORTER_SERVICE_PORT",
                "DCGM_EXPORTER_SERVICE_PORT_METRICS", "DCGM_EXPORTER_PORT",
                "DCGM_EXPORTER_PORT_9400_TCP_ADDR", "DCGM_EXPORTER_NODES_PORT_9400_TCP"}),
            std::vector<std::string>{
                "the environment variable \"DCGM_EXPORTER_LISTENS\" is unknown and has no effect; "
                "nearest is DCGM_EXPORTER_LISTEN. Correct it or remove it"});
}

}  // namespace
}  // namespace podgpu
