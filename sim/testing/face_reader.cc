// A client that loads a simulated libdcgm and prints its values for each line of input.
//
//   face_reader LIBRARY < lines > values
//
// Watches a fixed list of fields on every GPU and instance, then prints for each line of input one
// line per value and a line with a dot.  Tests start several and compare their output.
#include <array>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <vector>

#include "abi/dcgm.h"

namespace podgpu::sim {
namespace {

constexpr auto kFields = std::to_array<unsigned short>(
    {54,  100, 101, 112, 140,  150,  155,  156,  157,  203,  204,  207,
     240, 251, 252, 449, 1001, 1002, 1004, 1005, 1009, 1010, 1011, 1012});

void* library = nullptr;  // NOLINT(cppcoreguidelines-avoid-non-const-global-variables): a program.

template <typename... Arguments>
int Call(const char* name, Arguments... arguments) {
  const auto function = reinterpret_cast<int (*)(Arguments...)>(dlsym(library, name));
  return function(arguments...);
}

void Print(const abi::dcgmGroupEntityPair_t& entity, const abi::dcgmFieldValue_v1& value) {
  std::printf("%d/%u %d status %d at %lld ", entity.entityGroupId, entity.entityId,
              static_cast<int>(value.fieldId), value.status, static_cast<long long>(value.ts));
  if (value.fieldType == abi::DCGM_FT_STRING) {
    std::printf("%s\n", value.value.str);
  } else if (value.fieldType == abi::DCGM_FT_DOUBLE) {
    std::printf("%a\n", value.value.dbl);
  } else {
    std::printf("%lld\n", static_cast<long long>(value.value.i64));
  }
}

std::vector<abi::dcgmGroupEntityPair_t> AllEntities(abi::dcgmHandle_t handle) {
  std::vector<abi::dcgmGroupEntityPair_t> entities;
  for (const int kind : {abi::DCGM_FE_GPU, abi::DCGM_FE_GPU_I}) {
    std::array<abi::dcgm_field_eid_t, 64> ids{};
    int count = static_cast<int>(ids.size());
    Call("dcgmGetEntityGroupEntities", handle, kind, ids.data(), &count, 0U);
    for (int i = 0; i < count; ++i) {
      entities.push_back({kind, ids.at(static_cast<size_t>(i))});
    }
  }
  return entities;
}

int Serve() {
  abi::dcgmHandle_t handle = 0;
  abi::dcgmGpuGrp_t group = 0;
  abi::dcgmFieldGrp_t field_group = 0;
  auto fields = kFields;
  if (Call("dcgmInit") != 0 || Call("dcgmStartEmbedded", 1, &handle) != 0) {
    return 1;
  }
  const std::vector<abi::dcgmGroupEntityPair_t> entities = AllEntities(handle);
  Call("dcgmGroupCreate", handle, 1, "reader", &group);
  for (const abi::dcgmGroupEntityPair_t& entity : entities) {
    Call("dcgmGroupAddEntity", handle, group, entity.entityGroupId, entity.entityId);
  }
  Call("dcgmFieldGroupCreate", handle, static_cast<int>(fields.size()), fields.data(), "reader",
       &field_group);
  if (Call("dcgmWatchFields", handle, group, field_group, 1'000'000LL, 600.0, 0) != 0) {
    return 1;
  }
  std::puts(".");
  std::fflush(stdout);
  std::vector<abi::dcgmFieldValue_v1> values(fields.size());
  for (int letter = std::getchar(); letter != EOF; letter = std::getchar()) {
    for (const abi::dcgmGroupEntityPair_t& entity : entities) {
      Call("dcgmEntityGetLatestValues", handle, entity.entityGroupId,
           static_cast<int>(entity.entityId), fields.data(),
           static_cast<unsigned int>(fields.size()), values.data());
      for (const abi::dcgmFieldValue_v1& value : values) {
        Print(entity, value);
      }
    }
    std::puts(".");
    std::fflush(stdout);
  }
  return 0;
}

}  // namespace
}  // namespace podgpu::sim

int main(int count, char** words) {
  podgpu::sim::library = count == 2 ? dlopen(words[1], RTLD_NOW | RTLD_LOCAL) : nullptr;
  if (podgpu::sim::library == nullptr) {
    std::fprintf(stderr, "face_reader: cannot open the library of the first argument\n");
    return 2;
  }
  return podgpu::sim::Serve();
}
