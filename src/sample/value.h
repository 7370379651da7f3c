// A measured number, a text, or the reason why the value is absent.
//
// Vendor libraries use special numbers for missing values (2^63 - 16 for "blank", and so on).
// source/decode.cc removes them; after it a Value is either present or absent for a stated reason.
// 16 bytes, trivially copyable. A text is an index into its grid's pool (grid.h).
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <string_view>

namespace podgpu {

// Why a value is absent. The names (AbsenceName) are label values of podgpu_absent_samples{reason}.
enum class Absence : uint8_t {
  kNotRead,        // Not read yet.
  kNotSupported,   // The device or the driver does not support it.
  kNotPermitted,   // The driver does not permit this process to read it.
  kNotFound,       // The driver knows the field but not the device or part.
  kNoData,         // Watched, but no sample yet (normal for XID until one occurs).
  kNotWatched,     // The engine does not sample it, for example without the profiling module.
  kBlank,          // The driver answered blank without a reason.
  kOutOfRange,     // An impossible number, or an unterminated text.
  kStale,          // The last sample is older than --stale-after; withdrawn.
  kDeviceLost,     // The GPU is gone.
  kSourceDown,     // The engine or library does not answer.
  kWrongType,      // The vendor sent a type that differs from its own table.
  kNoProcesses,    // A per-pod value on a shared device needs processes, which are not read.
  kNotInSource,    // This source does not provide it; another may.
  kCountersTaken,  // Another program uses the profiling counters.
  kPaused,         // Profiling is paused on request.
  kSuspended,      // The device is suspended, and reading would wake it.
  kOtherGpu,       // The engine would return the values of another GPU.
};
inline constexpr int kAbsenceCount = 18;

// Returns "not_supported" and so on.
std::string_view AbsenceName(Absence absence);
// Returns the reason as half a sentence for people.
std::string_view AbsenceMeaning(Absence absence);

class Value {
 public:
  enum class Kind : uint8_t { kAbsent, kInt64, kDouble, kText };

  constexpr Value() = default;
  static constexpr Value OfAbsence(Absence absence) {
    Value value;
    value.absence_ = absence;
    return value;
  }
  // `age_ms`: age of the sample when it was read, in milliseconds, saturating.
  static constexpr Value OfInt64(int64_t number, uint32_t age_ms = 0) {
    return Value(Kind::kInt64, std::bit_cast<uint64_t>(number), age_ms);
  }
  static constexpr Value OfDouble(double number, uint32_t age_ms = 0) {
    return Value(Kind::kDouble, std::bit_cast<uint64_t>(number), age_ms);
  }
  // `index` into the text pool of the grid.
  static constexpr Value OfText(uint32_t index, uint32_t age_ms = 0) {
    return Value(Kind::kText, index, age_ms);
  }

  constexpr Kind kind() const { return kind_; }
  constexpr bool present() const { return kind_ != Kind::kAbsent; }
  constexpr Absence absence() const { return absence_; }  // Valid only when absent.
  constexpr int64_t int64() const { return std::bit_cast<int64_t>(bits_); }
  constexpr double real() const { return std::bit_cast<double>(bits_); }
  constexpr uint32_t text() const { return static_cast<uint32_t>(bits_); }
  constexpr uint32_t age_ms() const { return age_ms_; }
  // Returns the same value with an age that is greater by `ms`, at least 0.
  constexpr Value OlderBy(int64_t ms) const {
    constexpr int64_t kOldest = std::numeric_limits<uint32_t>::max();
    Value older = *this;
    older.age_ms_ = static_cast<uint32_t>(std::min(kOldest, age_ms_ + ms));
    return older;
  }
  // Returns the number of either numeric kind as a double.
  constexpr double number() const {
    return kind_ == Kind::kInt64 ? static_cast<double>(int64()) : real();
  }

 private:
  constexpr Value(Kind kind, uint64_t bits, uint32_t age_ms)
      : bits_(bits), age_ms_(age_ms), kind_(kind) {}

  uint64_t bits_ = 0;
  uint32_t age_ms_ = 0;
  Kind kind_ = Kind::kAbsent;
  Absence absence_ = Absence::kNotRead;
};
static_assert(sizeof(Value) == 16);

}  // namespace podgpu
