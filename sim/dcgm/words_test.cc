// Version words: each library accepts those of its generation and refuses all others with -12.
#include <cstring>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "abi/dcgm_connect.h"
#include "abi/dcgm_links.h"
#include "sim/testing/dcgm_client.h"
#include "sim/testing/dcgm_scenarios.h"

namespace podgpu::sim {
namespace {

constexpr int kMismatch = -12;

enum class Shape : uint8_t {
  kStruct,           // call(handle, struct)
  kGpuThenStruct,    // call(handle, 0, struct)
  kGroupThenStruct,  // call(handle, all GPUs, struct)
  kStructAlone,      // call(struct)
};

// A call, a version word, and the generations that accept it.
struct WordCase {
  const char* call;
  Shape shape;
  uint32_t word;
  bool in_3, in_4;
};

constexpr auto kWords = std::to_array<WordCase>({
    {"dcgmStartEmbedded_v2", Shape::kStructAlone, 0x01000048, true, true},
    {"dcgmStartEmbedded_v2", Shape::kStructAlone, 0x02000050, true, true},
    {"dcgmStartEmbedded_v2", Shape::kStructAlone, 0x03000068, false, true},
    {"dcgmVersionInfo", Shape::kStructAlone, 0x02000204, true, true},
    {"dcgmHostengineVersionInfo", Shape::kStruct, 0x02000204, true, true},
    {"dcgmGetDeviceAttributes", Shape::kGpuThenStruct, 0x03001464, true, true},
    {"dcgmGetDeviceTopology", Shape::kGpuThenStruct, 0x010001c0, true, true},
    {"dcgmGetDeviceTopology", Shape::kGpuThenStruct, 0x02000338, false, true},
    {"dcgmGetNvLinkLinkStatus", Shape::kStruct, 0x030015bc, true, false},
    {"dcgmGetNvLinkLinkStatus", Shape::kStruct, 0x040039bc, false, true},
    {"dcgmGetNvLinkLinkStatus", Shape::kStruct, 0x050042bc, false, true},
    {"dcgmGetNvLinkP2PStatus", Shape::kStruct, 0x01001088, false, true},
    {"dcgmGetGpuInstanceHierarchy", Shape::kStruct, 0x02011f08, true, true},
    {"dcgmProfGetSupportedMetricGroups", Shape::kStruct, 0x03000560, true, true},
    {"dcgmGroupGetInfo", Shape::kGroupThenStruct, 0x02000308, true, false},
    {"dcgmGroupGetInfo", Shape::kGroupThenStruct, 0x03002108, false, true},
    {"dcgmHealthCheck", Shape::kGroupThenStruct, 0x0401050c, true, false},
    {"dcgmHealthCheck", Shape::kGroupThenStruct, 0x0510500c, false, true},
});

class DcgmWords : public testing::TestWithParam<int> {};

INSTANTIATE_TEST_SUITE_P(Generations, DcgmWords, testing::Values(4, 3), [](const auto& generation) {
  return "so" + std::to_string(generation.param);
});

// Makes the call with a buffer that begins with `word` and is large enough for any struct.
int CallWith(const DcgmBench& bench, const WordCase& row, uint32_t word) {
  static_assert(sizeof(abi::dcgmHealthResponse_v5) < 4 * (1U << 19U));
  const auto buffer = std::make_unique<uint32_t[]>(1U << 19U);
  buffer[0] = word;
  buffer[1] = row.shape == Shape::kStructAlone ? 1U : 0U;  // The mode of dcgmStartEmbedded_v2.
  void* const out = buffer.get();
  switch (row.shape) {
    case Shape::kStructAlone:
      return bench.Call(row.call, out);
    case Shape::kStruct:
      return bench.On(row.call, out);
    case Shape::kGpuThenStruct:
      return bench.On(row.call, 0U, out);
    case Shape::kGroupThenStruct:
      return bench.On(row.call, abi::dcgmGpuGrp_t{abi::DCGM_GROUP_ALL_GPUS}, out);
  }
  return 1;
}

TEST_P(DcgmWords, EachStructIsAcceptedOnlyInItsGeneration) {
  DcgmBench bench(GetParam(), kEightGpus);
  bench.Start();
  for (const WordCase& row : kWords) {
    if (!bench.client().Has(row.call)) {
      EXPECT_FALSE(GetParam() == 4 ? row.in_4 : row.in_3) << row.call;
      continue;
    }
    const bool accepted = GetParam() == 4 ? row.in_4 : row.in_3;
    EXPECT_EQ(CallWith(bench, row, row.word), accepted ? 0 : kMismatch)
        << row.call << " " << std::hex << row.word;
  }
}

TEST_P(DcgmWords, AnUnknownVersionWordIsRefusedEverywhere) {
  DcgmBench bench(GetParam(), kEightGpus);
  bench.Start();
  for (const WordCase& row : kWords) {
    for (const uint32_t wrong : {1U, row.word + 4, row.word + (1U << 24U) * 7}) {
      if (bench.client().Has(row.call)) {
        EXPECT_EQ(CallWith(bench, row, wrong), kMismatch) << row.call << " " << std::hex << wrong;
      }
    }
  }
}

TEST_P(DcgmWords, ConnectionParametersAreCheckedBeforeTheAddress) {
  DcgmBench bench(GetParam(), kEightGpus);
  ASSERT_EQ(bench.Call("dcgmInit"), 0);
  abi::dcgmConnectV2Params_v2 params{};
  params.version = 0x03000010;
  EXPECT_EQ(bench.Call("dcgmConnect_v2", "127.0.0.1:1", &params, &bench.handle), kMismatch);
  params.version = abi::dcgmConnectV2Params_version2;
  EXPECT_EQ(bench.Call("dcgmConnect_v2", "127.0.0.1:port", &params, &bench.handle), -1);
  if (GetParam() == 4) {
    abi::dcgmConnectV3Params_v1 newer{};
    newer.version = 1;
    EXPECT_EQ(bench.Call("dcgmConnect_v3", "tcp://127.0.0.1:1", &newer, &bench.handle), kMismatch);
    newer.version = abi::dcgmConnectV3Params_version1;
    EXPECT_EQ(bench.Call("dcgmConnect_v3", "vsock://2:5555", &newer, &bench.handle), -1);
    EXPECT_EQ(bench.Call("dcgmConnect_v3", "127.0.0.1:port", &newer, &bench.handle), -1);
  }
}

}  // namespace
}  // namespace podgpu::sim
