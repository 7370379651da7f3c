#include "ui/error_json.h"

#include <gtest/gtest.h>

namespace podgpu {
namespace {

TEST(ErrorJson, IsAnObject) { EXPECT_EQ(ErrorJson("a \"b\""), "{\"error\":\"a \\\"b\\\"\"}\n"); }

}  // namespace
}  // namespace podgpu
