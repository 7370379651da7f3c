// The node on which the calls of dcgm-exporter are replayed, and helpers that several rows share.
//
// The script is the list of calls that dcgm-exporter makes from its start to a scrape, a reload and
// a restart.  Its rows are tests in sim/dcgm/script_test.cc (start, discovery) and
// sim/dcgm/scrape_script_test.cc (watches, scrapes, reloads), each against both libraries as the
// loader finds them.  For tests only; one thread.
#pragma once

#include <array>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "sim/testing/dcgm_client.h"
#include "sim/testing/dcgm_scenarios.h"

namespace podgpu::sim {

using FieldMeta = const abi::dcgm_field_meta_t*;

template <typename Struct>
std::unique_ptr<Struct> WithWord(uint32_t word) {
  auto made = std::make_unique<Struct>();
  made->version = word;
  return made;
}

// The parameter is the library's generation.
class DcgmScript : public testing::TestWithParam<int> {
 protected:
  // The state that rows 18 to 20 leave for later rows.
  struct Collector {
    std::vector<unsigned short> fields;
    abi::dcgmGpuGrp_t group = 0;
    abi::dcgmFieldGrp_t field_group = 0;
  };

  void Open(std::string_view scenario = kEightGpus) {
    bench_.reset();  // One client at a time.
    bench_ = std::make_unique<DcgmBench>(GetParam(), scenario);
  }
  // Rows 1 to 3.
  void Start(std::string_view scenario = kEightGpus) {
    Open(scenario);
    bench_->Start();
    ASSERT_GE(bench_->Call("DcgmFieldsInit"), 0);
  }

  FieldMeta FieldById(unsigned short id) const {
    return bench_->client().Call<FieldMeta>("DcgmFieldGetById", id);
  }

  int GpuCount() const {
    std::array<unsigned int, 32> ids{};
    int count = -1;
    EXPECT_EQ(bench_->On("dcgmGetAllDevices", ids.data(), &count), 0);
    for (int i = 0; i < count; ++i) {
      EXPECT_EQ(ids.at(static_cast<size_t>(i)), static_cast<unsigned int>(i));
    }
    return count;
  }

  // How the program reads a few static fields of one GPU: it makes groups, reads, destroys them.
  std::vector<Seen> ReadOnce(uint32_t gpu, std::vector<unsigned short> fields,
                             const char* name) const {
    const abi::dcgmFieldGrp_t field_group = bench_->MakeFieldGroup(fields, name);
    const abi::dcgmGpuGrp_t group = bench_->MakeGroup();
    EXPECT_EQ(bench_->On("dcgmGroupAddDevice", group, gpu), 0);
    EXPECT_EQ(bench_->Watch(group, field_group, 30'000'000, 0, 1), 0);
    EXPECT_EQ(bench_->On("dcgmUpdateAllFields", 1), 0);
    std::vector<abi::dcgmFieldValue_v1> values(fields.size());
    EXPECT_EQ(bench_->On("dcgmGetLatestValuesForFields", static_cast<int>(gpu), fields.data(),
                         static_cast<unsigned int>(fields.size()), values.data()),
              0);
    EXPECT_EQ(bench_->On("dcgmFieldGroupDestroy", field_group), 0);
    EXPECT_EQ(bench_->On("dcgmGroupDestroy", group), 0);
    std::vector<Seen> seen;
    for (const abi::dcgmFieldValue_v1& value : values) {
      seen.push_back(See(kGpu, gpu, value));
      EXPECT_EQ(seen.back().status, 0) << seen.back().field;
    }
    return seen;
  }

  Collector MakeCollector() const {
    Collector collector{.fields = {100, 101, 140, 150, 155, 156, 203, 252, 230, 1001, 1004, 1010}};
    collector.group = bench_->MakeGroup();
    for (uint32_t gpu = 0; gpu < 8; ++gpu) {
      EXPECT_EQ(bench_->On("dcgmGroupAddEntity", collector.group, kGpu, gpu), 0);
    }
    collector.field_group = bench_->MakeFieldGroup(collector.fields, "collector");
    EXPECT_EQ(bench_->Watch(collector.group, collector.field_group), 0);
    EXPECT_EQ(bench_->On("dcgmUpdateAllFields", 1), 0);
    return collector;
  }

  const bool is_4 = GetParam() == 4;
  std::unique_ptr<DcgmBench> bench_;
};

}  // namespace podgpu::sim
