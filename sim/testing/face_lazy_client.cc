// A client that binds to libdcgm as Go programs with cgo do.
//
//   face_lazy_client LIBRARY
//
// It is linked with the vendor's functions undefined, opens the library with LAZY and GLOBAL, and
// each function is bound through the procedure linkage table at its first call.  Runs from init to
// values and prints the uuid and the temperature of GPU 0; exit code 0 when every call succeeded.
#include <array>
#include <cstdio>
#include <dlfcn.h>
#include <vector>

#include "abi/dcgm.h"

namespace abi = podgpu::abi;

extern "C" {
int dcgmInit();
int dcgmShutdown();
int dcgmStartEmbedded(int mode, abi::dcgmHandle_t* handle);
int dcgmStopEmbedded(abi::dcgmHandle_t handle);
int dcgmGetAllDevices(abi::dcgmHandle_t handle, unsigned int* ids, int* count);
int dcgmGroupCreate(abi::dcgmHandle_t handle, int type, const char* name, abi::dcgmGpuGrp_t* group);
int dcgmFieldGroupCreate(abi::dcgmHandle_t handle, int count, const unsigned short* fields,
                         const char* name, abi::dcgmFieldGrp_t* group);
int dcgmWatchFields(abi::dcgmHandle_t handle, abi::dcgmGpuGrp_t group, abi::dcgmFieldGrp_t fields,
                    long long period_us, double keep_age_s, int keep_samples);
int dcgmUpdateAllFields(abi::dcgmHandle_t handle, int wait);
int dcgmEntityGetLatestValues(abi::dcgmHandle_t handle, int kind, int entity,
                              unsigned short* fields, unsigned int count,
                              abi::dcgmFieldValue_v1* values);
int DcgmFieldsInit();
const abi::dcgm_field_meta_t* DcgmFieldGetById(unsigned short field);
}

namespace {

int Run() {
  abi::dcgmHandle_t handle = 0;
  abi::dcgmGpuGrp_t group = 0;
  abi::dcgmFieldGrp_t field_group = 0;
  std::array<unsigned int, abi::DCGM_MAX_NUM_DEVICES> ids{};
  int count = 0;
  std::array<unsigned short, 2> fields = {54, 150};
  std::vector<abi::dcgmFieldValue_v1> values(fields.size());
  const bool ok =
      dcgmInit() == 0 && dcgmStartEmbedded(1, &handle) == 0 && DcgmFieldsInit() == 0 &&
      dcgmGetAllDevices(handle, ids.data(), &count) == 0 &&
      dcgmGroupCreate(handle, 0, "lazy", &group) == 0 &&
      dcgmFieldGroupCreate(handle, 2, fields.data(), "lazy", &field_group) == 0 &&
      dcgmWatchFields(handle, group, field_group, 1'000'000, 600, 0) == 0 &&
      dcgmUpdateAllFields(handle, 1) == 0 &&
      dcgmEntityGetLatestValues(handle, abi::DCGM_FE_GPU, 0, fields.data(), 2, values.data()) == 0;
  if (ok) {
    std::printf("%d GPUs, %s, %s %lld\n", count, values[0].value.str, DcgmFieldGetById(150)->tag,
                static_cast<long long>(values[1].value.i64));
  }
  return ok && dcgmStopEmbedded(handle) == 0 && dcgmShutdown() == 0 ? 0 : 1;
}

}  // namespace

int main(int count, char** words) {
  void* const library = count == 2 ? dlopen(words[1], RTLD_LAZY | RTLD_GLOBAL) : nullptr;
  if (library == nullptr) {
    std::fprintf(stderr, "face_lazy_client: cannot open the library of the first argument\n");
    return 2;
  }
  const int code = Run();
  dlclose(library);
  return code;
}
