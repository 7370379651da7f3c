#include "metrics_api/values/quantity.h"

#include <gtest/gtest.h>

namespace podgpu {
namespace {

TEST(Quantity, IsWholeOrInThousandths) {
  struct Row {
    double number;
    const char* text;
  };
  const Row rows[] = {
      {0, "0"},         {42, "42"},           {45.5, "45500m"},    {0.0004, "0"},
      {0.0006, "1m"},   {99.9996, "100"},     {-1.25, "-1250m"},   {85899345920.0, "85899345920"},
      {1e6, "1000000"}, {33.33333, "33333m"}, {0.1 + 0.2, "300m"}, {1e300, "9000000000000000"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(FormatQuantity(row.number), row.text) << row.number;
  }
}

}  // namespace
}  // namespace podgpu
