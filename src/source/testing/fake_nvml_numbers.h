// Functions by which FakeNvml (fake_nvml_table.h) writes its numbers into a call's output: a plain
// number as it is, a struct with all members derived from the number.  No state.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <type_traits>

#include "abi/nvml_table.h"

namespace podgpu {

inline abi::nvmlReturn_t PutText(const std::string& text, char* buffer, uint32_t length) {
  if (text.size() + 1 > length) {
    return abi::NVML_ERROR_INSUFFICIENT_SIZE;
  }
  std::memcpy(buffer, text.c_str(), text.size() + 1);
  return abi::NVML_SUCCESS;
}

// Every plain member of a struct of one number type gets the number.
template <typename T, typename Member>
void PutAll(T* out, Member number) {
  for (size_t at = 0; at + sizeof number <= sizeof *out; at += sizeof number) {
    std::memcpy(reinterpret_cast<char*>(out) + at, &number, sizeof number);
  }
}

inline void Put(abi::nvmlUtilization_t* out, int64_t number) {
  PutAll(out, static_cast<uint32_t>(number));
}
inline void Put(abi::nvmlRowRemapperHistogramValues_t* out, int64_t number) {
  PutAll(out, static_cast<uint32_t>(number));
}
inline void Put(abi::nvmlBAR1Memory_t* out, int64_t number) {
  PutAll(out, static_cast<unsigned long long>(number) << 20U);
}
inline void Put(abi::nvmlMemory_t* out, int64_t number) {
  const auto bytes = static_cast<unsigned long long>(number) << 20U;
  *out = {.total = 4 * bytes, .free = bytes, .used = bytes};
}
inline void Put(abi::nvmlMemory_v2_t* out, int64_t number) {
  const auto bytes = static_cast<unsigned long long>(number) << 20U;
  *out = {
      .version = out->version, .total = 4 * bytes, .reserved = bytes, .free = bytes, .used = bytes};
}
inline void Put(abi::nvmlTemperature_v1_t* out, int64_t number) {
  out->temperature = static_cast<int>(number);
}
inline void Put(abi::nvmlMarginTemperature_v1_t* out, int64_t number) {
  out->marginTemperature = static_cast<int>(number);
}
inline void Put(abi::nvmlGridLicensableFeatures_t* out, int64_t number) {
  *out = {};
  out->isGridLicenseSupported = 1;
  out->licensableFeaturesCount = 1;
  out->gridLicensableFeatures[0].featureCode = 1;
  out->gridLicensableFeatures[0].featureState = number > 0 ? 1 : 0;
}
inline void Put(abi::nvmlPciInfo_t* out, int64_t number) {
  *out = {};
  PutText("00000000:0" + std::to_string(number % 10) + ":00.0", out->busId, sizeof out->busId);
}
template <typename T>
  requires std::is_arithmetic_v<T>
void Put(T* out, int64_t number) {
  *out = static_cast<T>(number);
}

}  // namespace podgpu
