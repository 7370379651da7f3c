// A client of the simulated libdcgm for tests: calls functions by name, on its own node.
//
// Opens the library as shipped (lib/ of the build folder) and calls what dlsym finds, so the tests
// see what a foreign program sees.  Arguments must have the exact types of the vendor's parameters.
// The library stays loaded and keeps one state per process, so each client initialises it and shuts
// it down again; one client at a time.  For tests only; one thread unless a test says so.
#pragma once

#include <cstdlib>
#include <dlfcn.h>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "abi/dcgm.h"
#include "abi/dcgm_devices.h"
#include "abi/dcgm_health.h"
#include "sim/testing/node.h"
#include "sim/world/run_directory.h"

namespace podgpu::sim {

inline constexpr int kGpu = abi::DCGM_FE_GPU;
inline constexpr int kInstance = abi::DCGM_FE_GPU_I;

class DcgmClient {
 public:
  // `folder`: of a release that has its own library, such as "4.7.1/".
  explicit DcgmClient(int major, std::string_view folder = "")
      : path_(std::string(PODGPU_BINARY_DIR) + "/lib/" + std::string(folder) + "libdcgm.so." +
              std::to_string(major)),
        library_(dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    EXPECT_NE(library_, nullptr) << dlerror();
  }
  DcgmClient(const DcgmClient&) = delete;
  DcgmClient& operator=(const DcgmClient&) = delete;
  ~DcgmClient() { Call("dcgmShutdown"); }

  template <typename Result = int, typename... Arguments>
  Result Call(const char* name, Arguments... arguments) const {
    auto* const function = reinterpret_cast<Result (*)(Arguments...)>(dlsym(library_, name));
    if (function == nullptr) {
      ADD_FAILURE() << path_ << " has no " << name;
      return Result{};
    }
    return function(arguments...);
  }
  bool Has(const char* name) const { return dlsym(library_, name) != nullptr; }

 private:
  std::string path_;
  void* library_;
};

// A value as a test reads it; the type letter says which of the last three members counts.
struct Seen {
  int group = 0;
  uint32_t entity = 0;
  int field = 0;
  int status = 0;
  int64_t ts = 0;
  int type = 0;
  int64_t number = 0;
  double real = 0;
  std::string text;
};

template <typename Value>
Seen See(int group, uint32_t entity, const Value& value) {
  Seen seen{.group = group,
            .entity = entity,
            .field = value.fieldId,
            .status = value.status,
            .ts = value.ts,
            .type = value.fieldType,
            .text = {}};
  if (seen.type == abi::DCGM_FT_STRING) {
    seen.text = value.value.str;
  } else if (seen.type == abi::DCGM_FT_DOUBLE) {
    seen.real = value.value.dbl;
  } else {
    seen.number = value.value.i64;
  }
  return seen;
}

// A callback of the enumerating calls; `user` is a std::vector<Seen>.
inline int SeeAll(abi::dcgm_field_entity_group_t group, abi::dcgm_field_eid_t entity,
                  abi::dcgmFieldValue_v1* values, int count, void* user) {
  for (int i = 0; i < count; ++i) {
    static_cast<std::vector<Seen>*>(user)->push_back(See(group, entity, values[i]));
  }
  return 0;
}

// A node, and a client with an embedded engine or not connected yet.
class DcgmBench {
 public:
  static constexpr int64_t kTimeScale = 100;  // A request's minute becomes 600 ms.

  DcgmBench(int major, std::string_view scenario, std::string_view folder = "")
      : node_(scenario, kTimeScale), client_(major, folder), major_(major) {
    setenv("PODGPU_SIM_DIR", node_.path().c_str(), 1);
    std::string error;
    run_ = RunDirectory::Open(node_.path(), error);
    EXPECT_NE(run_, nullptr) << error;
  }

  // Starts the embedded engine.
  void Start() {
    ASSERT_EQ(Call("dcgmInit"), 0);
    ASSERT_EQ(Call("dcgmStartEmbedded", abi::DCGM_OPERATION_MODE_AUTO, &handle), 0);
  }

  template <typename... Arguments>
  int Call(const char* name, Arguments... arguments) const {
    return client_.Call<int, Arguments...>(name, arguments...);
  }
  // The same, with the handle as first argument.
  template <typename... Arguments>
  int On(const char* name, Arguments... arguments) const {
    return client_.Call<int, abi::dcgmHandle_t, Arguments...>(name, handle, arguments...);
  }

  void Tick(TimeUs step) { EXPECT_TRUE(node_.writer().Tick(step).ok()); }
  const World& world() { return run_->world(); }
  TimeUs now() const { return run_->Now(); }
  int64_t Stamp(TimeUs t) const { return run_->StampUs(t); }
  const DcgmClient& client() const { return client_; }
  TestNode& node() { return node_; }
  int major() const { return major_; }

  abi::dcgmGpuGrp_t MakeGroup(int type = abi::DCGM_GROUP_EMPTY) const {
    abi::dcgmGpuGrp_t group = 0;
    EXPECT_EQ(On("dcgmGroupCreate", type, "group", &group), 0);
    return group;
  }
  abi::dcgmGpuGrp_t MakeGroupOf(int kind, uint32_t entity) const {
    const abi::dcgmGpuGrp_t group = MakeGroup();
    EXPECT_EQ(On("dcgmGroupAddEntity", group, kind, entity), 0);
    return group;
  }
  abi::dcgmFieldGrp_t MakeFieldGroup(const std::vector<unsigned short>& fields,
                                     const char* name = "fields") const {
    abi::dcgmFieldGrp_t group = 0;
    EXPECT_EQ(
        On("dcgmFieldGroupCreate", static_cast<int>(fields.size()), fields.data(), name, &group),
        0);
    return group;
  }
  int Watch(abi::dcgmGpuGrp_t group, abi::dcgmFieldGrp_t fields, long long period_us = 1'000'000,
            double keep_age_s = 600.0, int keep_samples = 0) const {
    return On("dcgmWatchFields", group, fields, period_us, keep_age_s, keep_samples);
  }

  // Calls dcgmEntityGetLatestValues, which must succeed.
  std::vector<Seen> Read(int kind, uint32_t entity, std::vector<unsigned short> fields) const {
    std::vector<abi::dcgmFieldValue_v1> values(fields.size());
    EXPECT_EQ(On("dcgmEntityGetLatestValues", kind, static_cast<int>(entity), fields.data(),
                 static_cast<unsigned int>(fields.size()), values.data()),
              0);
    std::vector<Seen> seen;
    for (const abi::dcgmFieldValue_v1& value : values) {
      EXPECT_EQ(value.version, 0x01001018U);
      seen.push_back(See(kind, entity, value));
    }
    return seen;
  }
  // Calls dcgmEntitiesGetLatestValues for one entity with the live flag; it must return `expected`.
  std::vector<Seen> ReadLive(int kind, uint32_t entity, std::vector<unsigned short> fields,
                             int expected = 0) const {
    abi::dcgmGroupEntityPair_t pair{kind, entity};
    std::vector<abi::dcgmFieldValue_v2> values(fields.size());
    EXPECT_EQ(On("dcgmEntitiesGetLatestValues", &pair, 1U, fields.data(),
                 static_cast<unsigned int>(fields.size()), 1U, values.data()),
              expected);
    std::vector<Seen> seen;
    for (const abi::dcgmFieldValue_v2& value : values) {
      seen.push_back(See(value.entityGroupId, value.entityId, value));
    }
    return seen;
  }

  abi::dcgmHandle_t handle = 0;

 private:
  TestNode node_;
  DcgmClient client_;
  const int major_;
  std::unique_ptr<RunDirectory> run_;
};

}  // namespace podgpu::sim
