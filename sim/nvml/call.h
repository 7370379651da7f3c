// The common steps of every exported function of the simulated NVML.
//
// A call finds its device at the present time, applies the faults in force (hanging, slowness,
// errors, a lost GPU, refused or missing values), and only then asks the world.  An exported
// function gives its name, its device, which devices it accepts (whole GPUs, MIG devices, both),
// and the DCGM fields that its answer corresponds to, since scenarios name DCGM fields in faults on
// values.  Codes follow NVML's documentation: 1 before initialisation, 2 for a null pointer or a
// stale handle, 3 for what a board lacks, 7 for a buffer that is too small.  Standard library only;
// any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string_view>
#include <type_traits>

#include "abi/nvml.h"
#include "sim/nvml/session.h"

namespace podgpu::sim {

enum class NvmlScope : uint8_t { kGpu, kMig, kAny };

struct NvmlCall {
  std::string_view name;
  abi::nvmlDevice_t device = nullptr;
  std::array<uint16_t, 5> feeds{};  // DCGM fields of the answer; 0 ends the list.
  NvmlScope scope = NvmlScope::kGpu;
};

// Returns the device of the call after the faults in force were applied, or the code to answer.
// Blocks while a fault of hanging or slowness lasts.
NvmlTarget BeginNvmlCall(const NvmlCall& call);
// The same for a call that concerns no device.
NvmlTarget BeginNvmlSystemCall(std::string_view name);
// The same for a call that asks for the handle of `target`.
NvmlTarget BeginNvmlHandleCall(std::string_view name, const NvmlTarget& target);

// Whether a garbage fault spoils the answer: the largest numbers, texts without an end.
bool IsAnswerGarbage(const NvmlCall& call, const NvmlTarget& target);

template <typename Out>
void FillNvmlWithGarbage(Out& out) {
  if constexpr (std::is_arithmetic_v<Out>) {
    out = std::numeric_limits<Out>::max();
  } else if constexpr (std::is_pointer_v<Out>) {
    std::memset(static_cast<void*>(&out), 0xff, sizeof(void*));
  } else {
    size_t first = 0;
    if constexpr (requires { out.version; }) {
      first = sizeof(out.version);
    }
    std::memset(reinterpret_cast<std::byte*>(&out) + first, 0xff, sizeof(Out) - first);
  }
}

// Answers with body(target), which fills `*outs` and returns a code.
template <typename Body, typename... Outs>
abi::nvmlReturn_t AskNvml(const NvmlCall& call, const Body& body, Outs*... outs) {
  const NvmlTarget target = BeginNvmlCall(call);
  if (target.result != abi::NVML_SUCCESS) {
    return target.result;
  }
  const bool has_all = ((outs != nullptr) && ...);
  if (!has_all) {
    return abi::NVML_ERROR_INVALID_ARGUMENT;
  }
  const abi::nvmlReturn_t result = body(target);
  if (result == abi::NVML_SUCCESS && IsAnswerGarbage(call, target)) {
    (FillNvmlWithGarbage(*outs), ...);
  }
  return result;
}

// A number, or the code to answer when there is none.
struct NvmlAnswer {
  int64_t value = 0;
  abi::nvmlReturn_t result = abi::NVML_SUCCESS;
};
constexpr NvmlAnswer NvmlNumber(int64_t value) { return {.value = value}; }
constexpr NvmlAnswer NvmlRefusal(abi::nvmlReturn_t code = abi::NVML_ERROR_NOT_SUPPORTED) {
  return {.result = code};
}
constexpr NvmlAnswer NvmlNumberIf(bool has, int64_t value) {
  return has ? NvmlNumber(value) : NvmlRefusal();
}
template <typename Optional>
constexpr NvmlAnswer NvmlNumberOf(const Optional& value) {
  return value ? NvmlNumber(static_cast<int64_t>(*value)) : NvmlRefusal();
}

// Answers with the number that body(target) returns.
template <typename Number, typename Body>
abi::nvmlReturn_t AnswerNvml(const NvmlCall& call, Number* place, const Body& body) {
  const auto put = [&](const NvmlTarget& on) {
    const NvmlAnswer answer = body(on);
    if (answer.result == abi::NVML_SUCCESS) {
      *place = static_cast<Number>(answer.value);
    }
    return answer.result;
  };
  return AskNvml(call, put, place);
}

// Copies `text` with its end into the caller's `length` bytes; an empty text is not supported.
abi::nvmlReturn_t PutNvmlText(std::string_view text, char* buffer, unsigned length);
// Answers with the text that body(target) returns.
template <typename Body>
abi::nvmlReturn_t AnswerNvmlText(const NvmlCall& call, char* buffer, unsigned length,
                                 const Body& body) {
  const NvmlTarget target = BeginNvmlCall(call);
  if (target.result != abi::NVML_SUCCESS) {
    return target.result;
  }
  const abi::nvmlReturn_t result = PutNvmlText(body(target), buffer, length);
  if (result == abi::NVML_SUCCESS && IsAnswerGarbage(call, target)) {
    std::memset(buffer, 0xff, length);
  }
  return result;
}

// The whole GPU of the target.
inline DeviceRef WholeGpu(const NvmlTarget& on) { return {.gpu = on.device.gpu}; }
inline bool InMigMode(const NvmlTarget& on) { return on.world->mig_enabled(on.device.gpu, on.now); }

}  // namespace podgpu::sim
