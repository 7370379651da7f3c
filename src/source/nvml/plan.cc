#include "source/nvml/plan.h"

#include <algorithm>
#include <limits>

#include "abi/nvml_readings.h"
#include "fields/field_ids.h"
#include "source/decode.h"

namespace podgpu {
namespace {

using std::chrono::milliseconds;

constexpr int64_t kAnything = std::numeric_limits<int64_t>::max();

// Greater numbers are garbage; DCGM drops such temperatures too.
int64_t HighestOf(const Field& field) {
  if (field.id == field_ids::kFanSpeed) {  // Percent of the rated speed; a fan may exceed it.
    return 1000;
  }
  if (field.unit == "percent") {
    return 100;
  }
  if (field.unit == "C") {
    return 200;
  }
  return field.unit == "MHz" || field.unit == "W" ? 1'000'000 : kAnything;
}

void AddRequests(const NvmlRecipe& recipe, NvmlPlan& plan) {
  constexpr uint32_t kSentData = 138;
  constexpr uint32_t kReceivedData = 139;
  const size_t column = plan.columns.size();
  if (recipe.call != NvmlCall::kLinkRate) {
    plan.requests.push_back({recipe.argument, 0, column});
    return;
  }
  const uint32_t link = recipe.argument & 0xffU;
  const uint32_t scope = link == kAllLinks ? abi::NVML_ALL_LINKS : link;
  if ((recipe.argument & kSent) != 0) {
    plan.requests.push_back({kSentData, scope, column});
  }
  if ((recipe.argument & kReceived) != 0) {
    plan.requests.push_back({kReceivedData, scope, column});
  }
}

// Returns the index of the pace of a value that is wanted every `interval`; adds it if it is new.
size_t PaceOf(milliseconds interval, const NvmlRecipe& recipe, std::vector<milliseconds>& paces) {
  const milliseconds pace =
      recipe.is_slow ? std::max<milliseconds>(interval, kSlowEvery) : interval;
  const auto found = std::ranges::find(paces, pace);
  const auto index = static_cast<size_t>(found - paces.begin());
  if (found == paces.end()) {
    paces.push_back(pace);
  }
  return index;
}

}  // namespace

NvmlPlan MakeNvmlPlan(const std::vector<const Field*>& fields, const FieldCollections& collections,
                      milliseconds period) {
  NvmlPlan plan;
  plan.reading_period = ShortestInterval(collections, period);
  for (size_t i = 0; i < fields.size(); ++i) {
    const std::optional<NvmlRecipe> recipe = NvmlRecipeOf(*fields[i]);
    if (!recipe) {
      continue;
    }
    // The limits are those of the number that NVML gives.
    const Field& given = recipe->unit != nullptr ? *FindField(recipe->unit->old_id) : *fields[i];
    NvmlPlan::Column column{.row = {static_cast<uint16_t>(i)},
                            .recipe = *recipe,
                            .lowest = DecoderFor(given, 0).lowest,
                            .highest = HighestOf(given)};
    if (NeedsGpm(*recipe)) {
      column.first = plan.metrics.size();
      plan.metrics.push_back(recipe->argument);
    } else if (recipe->call == NvmlCall::kFieldValue ||
               recipe->call == NvmlCall::kFieldMilliwatts || recipe->call == NvmlCall::kLinkRate) {
      column.first = plan.requests.size();
      AddRequests(*recipe, plan);
    }
    if (!collections.empty()) {
      const milliseconds own = IntervalOf(collections, fields[i]->id);
      column.pace = PaceOf(own.count() > 0 ? own : period, *recipe, plan.paces);
    }
    plan.columns.push_back(column);
  }
  return plan;
}

}  // namespace podgpu
