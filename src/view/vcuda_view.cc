#include "view/vcuda_view.h"

#include <algorithm>
#include <array>

#include "fields/field_ids.h"

namespace podgpu {
namespace {

constexpr uint64_t kBytesPerMib = uint64_t{1} << 20U;
constexpr std::string_view kTotal = "total";

// The numbers of one container: two for each card, then these.
enum UserSlot : uint8_t { kMemoryInAll, kSmInAll, kMemoryAsked, kCardsAsked };
constexpr uint32_t kSlotsPerUser = 4;
constexpr uint32_t kSlotsPerCard = 2;

struct VcudaMeasure {
  std::string_view name, help, unit, label;
  bool by_card;
  uint8_t of_card;  // Index among the slots of a card.
  UserSlot in_all;
};
constexpr std::array<VcudaMeasure, 4> kVcudaMeasures = {{
    {"container_gpu_memory_total", "gpu memory usage in MiB", "MiB", "gpu_memory", true, 0,
     kMemoryInAll},
    {"container_gpu_utilization", "gpu utilization", "percent", "gpu", true, 1, kSmInAll},
    {"container_request_gpu_memory", "request of gpu memory in MiB", "MiB", "req_of_gpu_memory",
     false, 0, kMemoryAsked},
    {"container_request_gpu_utilization", "request of gpu utilization", "cards", "req_of_gpu",
     false, 0, kCardsAsked},
}};

Family Described(const VcudaMeasure& measure) {
  return {.name = std::string(measure.name),
          .help = std::string(measure.help),
          .type = "gauge",
          .unit = std::string(measure.unit),
          .format = NumberFormat::kShortest};
}

uint32_t SlotsOf(const CardUser& user) {
  return static_cast<uint32_t>(user.cards.size()) * kSlotsPerCard + kSlotsPerUser;
}

// Labels in alphabetical order, as gpu-manager prints them.
std::vector<Label> LabelsOfUser(const CardUser& user, const std::string& node,
                                std::string_view name, const std::string& value) {
  std::vector<Label> labels = {{"container_name", user.container},
                               {"namespace", user.name_space},
                               {"node", node},
                               {"pod_name", user.pod},
                               {std::string(name), value}};
  std::ranges::sort(labels, {}, &Label::name);
  return labels;
}

std::string LabelsOf(const VcudaMeasure& measure) {
  std::string names;
  for (const Label& label : LabelsOfUser({}, {}, measure.label, {})) {
    names += (names.empty() ? "" : ",") + label.name;
  }
  return names;
}

Value OrUnknown(std::optional<double> number) {
  return number ? Value::OfDouble(*number) : Value::OfAbsence(Absence::kNoData);
}

Value OrUnknownCount(std::optional<uint64_t> number) {
  return number ? Value::OfInt64(static_cast<int64_t>(*number))
                : Value::OfAbsence(Absence::kNoData);
}

// Empty if the memory of a card is not known, or there is no card.
std::optional<double> MemoryAskedMib(const CardsAsked& asked, const Grid& grid) {
  if (asked.memory_mib) {
    return asked.memory_mib;
  }
  const std::optional<FieldRow> row = grid.RowOf(field_ids::kMemoryTotal);
  if (!row || asked.memory_of.empty()) {
    return std::nullopt;
  }
  double mib = 0;
  for (const EntityId entity : asked.memory_of) {
    const Value& memory = grid.at(*row, entity);
    if (!memory.present()) {
      return std::nullopt;
    }
    mib += memory.number();
  }
  return mib * asked.memory_share;
}

}  // namespace

std::vector<FamilyDoc> VcudaFamilies() {
  std::vector<FamilyDoc> families;
  families.reserve(kVcudaMeasures.size());
  for (const VcudaMeasure& measure : kVcudaMeasures) {
    families.push_back({Described(measure), LabelsOf(measure)});
  }
  return families;
}

uint32_t VcudaSlotCount(std::span<const CardUser> users) {
  uint32_t count = 0;
  for (const CardUser& user : users) {
    count += SlotsOf(user);
  }
  return count;
}

void AddVcudaView(std::span<const CardUser> users, const std::string& node, uint32_t first_slot,
                  PlanBuilder& plan) {
  for (const VcudaMeasure& measure : kVcudaMeasures) {
    plan.BeginFamily(Described(measure));
    uint32_t slot = first_slot;
    for (const CardUser& user : users) {
      const auto card_count = static_cast<uint32_t>(user.cards.size());
      for (uint32_t i = 0; measure.by_card && i < card_count; ++i) {
        const std::string gpu = "gpu" + std::to_string(user.cards[i].gpu);
        plan.AddSeries(plan.AddLabels(RenderLabels(LabelsOfUser(user, node, measure.label, gpu))),
                       NumberSource::Slot(slot + i * kSlotsPerCard + measure.of_card));
      }
      if (card_count > 0 || !measure.by_card) {
        plan.AddSeries(plan.AddLabels(RenderLabels(
                           LabelsOfUser(user, node, measure.label, std::string(kTotal)))),
                       NumberSource::Slot(slot + card_count * kSlotsPerCard + measure.in_all));
      }
      slot += SlotsOf(user);
    }
  }
}

void AppendCardUser(const CardUser& user, std::span<const CardUse> uses, const Grid& grid,
                    std::vector<Value>& slots) {
  PODGPU_CHECK(uses.size() == user.cards.size());
  std::optional<uint64_t> memory_mib;
  std::optional<uint64_t> sm_percent;
  if (user.is_told) {
    memory_mib = 0;
    sm_percent = 0;
  }
  for (const CardUse& use : uses) {
    std::optional<uint64_t> of_card;
    if (user.is_told && use.memory_bytes) {
      of_card = *use.memory_bytes / kBytesPerMib;
    }
    const std::optional<uint64_t> busy = user.is_told ? use.sm_percent : std::nullopt;
    memory_mib = memory_mib && of_card ? std::optional(*memory_mib + *of_card) : std::nullopt;
    sm_percent = sm_percent && busy ? std::optional(*sm_percent + *busy) : std::nullopt;
    slots.push_back(OrUnknownCount(of_card));
    slots.push_back(OrUnknownCount(busy));
  }
  slots.push_back(OrUnknownCount(memory_mib));
  slots.push_back(OrUnknownCount(sm_percent));
  slots.push_back(OrUnknown(user.asked ? MemoryAskedMib(*user.asked, grid) : std::nullopt));
  slots.push_back(OrUnknown(user.asked ? user.asked->cards : std::nullopt));
}

}  // namespace podgpu
