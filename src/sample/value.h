// A measured number, a text, or the reason why there is none.
//
// Vendor libraries mix sentinels into their numbers (2^63 - 16 for "blank", and so on).  They end
// in source/decode.cc; from there on a Value is honest: it is either present or absent for a stated
// reason.  16 bytes, trivially copyable.  A text is an index into its grid's pool (grid.h).
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>

namespace podgpu {

// Why a value is not there.  The words (AbsenceName) are label values of
// podgpu_absent_samples{reason}.
enum class Absence : uint8_t {
  kNotRead,        // Nobody has asked for it yet.
  kNotSupported,   // The device or the driver does not have it.
  kNotPermitted,   // The driver refuses it to this process.
  kNotFound,       // The driver knows the field but not the thing.
  kNoData,         // Watched, nothing sampled yet (normal for XID until one happens).
  kNotWatched,     // The engine does not sample it (the profiling module is absent, say).
  kBlank,          // The driver answered blank without a reason.
  kOutOfRange,     // A number that this field cannot have, or a text without an end.
  kStale,          // The last sample is older than --stale-after; withdrawn.
  kDeviceLost,     // The GPU is gone.
  kSourceDown,     // The engine or library does not answer.
  kWrongType,      // The vendor sent another type than its own table promises.
  kNoProcesses,    // The number of one pod on a shared device, and its processes are not looked at.
  kNotInSource,    // This source cannot give it; another one might.
  kCountersTaken,  // Another program holds the profiling counters.
  kPaused,         // Profiling is paused on request.
  kSuspended,      // The device sleeps, and asking would wake it.
  kOtherGpu,       // The engine would answer with the values of another GPU.
};
inline constexpr int kAbsenceCount = 18;

// "not_supported" and so on.
std::string_view AbsenceName(Absence absence);
// The same as half a sentence, for people.
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
  // `age_ms`: how old the sample was when it was read, in milliseconds, saturating.
  static constexpr Value OfInt64(int64_t number, uint32_t age_ms = 0) {
    return Value(Kind::kInt64, std::bit_cast<uint64_t>(number), age_ms);
  }
  static constexpr Value OfDouble(double number, uint32_t age_ms = 0) {
    return Value(Kind::kDouble, std::bit_cast<uint64_t>(number), age_ms);
  }
  // `index` into Grid::texts().
  static constexpr Value OfText(uint32_t index, uint32_t age_ms = 0) {
    return Value(Kind::kText, index, age_ms);
  }

  constexpr Kind kind() const { return kind_; }
  constexpr bool present() const { return kind_ != Kind::kAbsent; }
  constexpr Absence absence() const { return absence_; }  // Meaningful when absent.
  constexpr int64_t int64() const { return std::bit_cast<int64_t>(bits_); }
  constexpr double real() const { return std::bit_cast<double>(bits_); }
  constexpr uint32_t text() const { return static_cast<uint32_t>(bits_); }
  constexpr uint32_t age_ms() const { return age_ms_; }
  // The number as a double, of either numeric kind.
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
