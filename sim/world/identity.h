// Identifiers that follow from the seed alone: uuids, container ids and phases.
//
// Compiler and evaluator both make them (a churning pod's uid includes the cycle number, which only
// the evaluator knows), so both must agree to the bit.  A counter-mode mixer over 64-bit keys makes
// them; a library's hash could change.  Not for secrets.  Pure functions; any thread.  Standard
// library only.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace podgpu::sim {

// The use of a key; two uses of one number never give the same key.
enum class Purpose : uint64_t {
  kGpuUuid = 1,
  kGpuSerial,
  kMigUuid,
  kPodUid,
  kContainerId,
  kEnergyOffset,
  kRefreshPhase,
  kNoisePhase,
  kChurn,
};

inline uint64_t Mix(uint64_t value) {
  value += 0x9e3779b97f4a7c15U;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31);
}

inline uint64_t KeyOf(uint64_t key, uint64_t part) { return Mix(Mix(key) ^ (part + 1)); }

inline uint64_t KeyOf(uint64_t key, std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325U;
  for (const char c : text) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  }
  return KeyOf(KeyOf(key, hash), text.size());
}

inline uint64_t KeyOf(uint64_t seed, Purpose purpose) {
  return KeyOf(seed, static_cast<uint64_t>(purpose));
}

// Writes `text.size()` lower-case hexadecimal digits derived from the key.
template <size_t kSize>
void WriteHex(uint64_t key, std::array<char, kSize>& text) {
  for (size_t i = 0; i < kSize; ++i) {
    const uint64_t word = KeyOf(key, uint64_t{i / 16});
    text.at(i) = "0123456789abcdef"[(word >> (4 * (i % 16))) & 15U];
  }
}

// The key in the form of a version 4 UUID: 8-4-4-4-12 lower-case hexadecimal digits.
inline std::array<char, 36> UuidText(uint64_t key) {
  std::array<char, 36> text{};
  WriteHex(key, text);
  for (const size_t dash : {8U, 13U, 18U, 23U}) {
    text.at(dash) = '-';
  }
  text[14] = '4';
  text[19] = "89ab"[key & 3U];
  return text;
}

inline std::array<char, 64> ContainerIdText(uint64_t key) {
  std::array<char, 64> text{};
  WriteHex(key, text);
  return text;
}

}  // namespace podgpu::sim
