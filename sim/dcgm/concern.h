// The object of a vendor call, for faults that affect only some calls.
//
// The exported function makes it from its arguments, at no cost: a GPU, an entity, a group, a list
// of entities; whether the engine must ask the driver instead of its cache; and the struct that it
// fills.  Borrows its pointers for the time of the call.  Part of the face: standard library only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "sim/dcgm/entities.h"

namespace podgpu::sim {

struct Concern {
  enum class About : uint8_t { kNothing, kEntity, kGroup, kEntities };
  About about = About::kNothing;
  bool asks_driver = false;
  EntityKey entity{};
  uint64_t group = 0;
  std::span<const abi::dcgmGroupEntityPair_t> entities{};
  std::span<std::byte> out{};  // After its version word.

  static Concern Gpu(uint32_t id) {
    return {.about = About::kEntity, .entity = {abi::DCGM_FE_GPU, id}};
  }
  static Concern Of(EntityKey key) { return {.about = About::kEntity, .entity = key}; }
  static Concern Group(uint64_t id) { return {.about = About::kGroup, .group = id}; }
  static Concern Driver() { return {.asks_driver = true}; }

  // The same for a call that fills `*filled`, a versioned struct.
  template <typename Struct>
  Concern Filling(Struct* filled) const {
    Concern concern = *this;
    if (filled != nullptr) {
      concern.out = std::as_writable_bytes(std::span(filled, 1)).subspan(sizeof(uint32_t));
    }
    return concern;
  }
};

}  // namespace podgpu::sim
