// The value of a DCGM field on an entity at a sample time: the world in DCGM's units.
//
// One table (readings.cc) maps field ids to readings; every reading is a function of the world at
// the sample time and, for rates, at the previous sample.  A reading that the board's class lacks
// or the world does not model is "not supported": status 0 with a blank, as a client sees the
// driver's refusal.  Part of the face: standard library only.  Pure functions; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "abi/dcgm.h"
#include "fields/field.h"
#include "sim/dcgm/entities.h"
#include "sim/dcgm/watches.h"
#include "sim/world/world.h"

namespace podgpu::sim {

// Why there is no number, in the order of DCGM's blanks.
enum class Blank : uint8_t { kNoValue, kNotFound, kNotSupported, kNotPermitted };

// A number, a text, or a reason.  `status` is not 0 when there is no sample.
struct Reading {
  int status = abi::DCGM_ST_OK;
  std::variant<Blank, int64_t, double, std::string> value = Blank::kNoValue;
  std::optional<TimeUs> sampled_at = std::nullopt;  // World time, if it differs from the sample's.
  bool is_garbage = false;                          // A garbage fault replaces the value.
};

// The inputs of a reading.
struct Query {
  const World& world;
  const GpuNumbers& gpus;
  Entity entity;
  uint16_t field = 0;
  SampleTime sample;
  int argument = 0;  // The argument of the table's row.

  const GpuFacts& gpu() const { return world.gpu(entity.device.gpu); }
  bool mig() const { return world.mig_enabled(entity.device.gpu, sample.t); }
};

using Reader = Reading (*)(const Query& query);

// A row of the table: fields first..last are read by `read` with argument, argument + 1, and so on.
// `level` gives the entities: kGlobal, kGpu (instances included), kLink, kSwitch, kCpu, or kCpuCore
// (CPUs included).
struct ReadingRow {
  uint16_t first;
  uint16_t last;
  FieldLevel level;
  Reader read;
  int argument;
};

constexpr int ArgumentOf(Integral integral) { return static_cast<int>(integral); }

// The row of a field, or null when the world does not model it.
const ReadingRow* FindReading(uint16_t field);

// Whether the field's samples come only from events, and the world has had none of them.
bool IsEventField(uint16_t field);

// Reads `field` of `entity` as sampled.
Reading ReadField(const Sight& sight, const Entity& entity, const Field& field,
                  const SampleTime& sample);

// A reading without a sample.
inline Reading NoSample(int status) { return {.status = status, .value = Blank::kNoValue}; }

// Writes the reading in DCGM's form: blanks by the field's type, texts cut to the buffer.  Garbage
// is the largest integer, NaN, or text without an end.
void StorePayload(const Reading& reading, int type_letter, abi::dcgmFieldValuePayload& payload);

}  // namespace podgpu::sim
