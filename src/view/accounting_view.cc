#include "view/accounting_view.h"

#include <utility>

namespace podgpu {
namespace {

constexpr uint32_t kAccountingSlots = 2;  // The mode, and the count.

Value ModeOf(Accounting accounting) {
  switch (accounting) {
    case Accounting::kOff:
      return Value::OfInt64(0);
    case Accounting::kOn:
      return Value::OfInt64(1);
    case Accounting::kNotSupported:
      return Value::OfAbsence(Absence::kNotSupported);
    case Accounting::kNotPermitted:
      return Value::OfAbsence(Absence::kNotPermitted);
    case Accounting::kFailed:
      return Value::OfAbsence(Absence::kBlank);
    case Accounting::kNotRead:
      break;
  }
  return Value::OfAbsence(Absence::kNotRead);
}

}  // namespace

std::vector<FamilyDoc> AccountingFamilies() {
  return {
      {{.name = "podgpu_gpu_accounting_enabled",
        .help = "1 while the driver records each process on the GPU (accounting mode, "
                "--enable-accounting), else 0, as always in MIG mode. Without it podgpu does not "
                "see a process that begins and ends between two readings. Energy does not need it.",
        .type = "gauge",
        .unit = {},
        .format = NumberFormat::kShortest},
       "gpu,UUID"},
      {{.name = "podgpu_gpu_short_processes_total",
        .help = "Processes that began and ended between two readings, as accounting has reported "
                "since podgpu started; absent until accounting is on for the first time.",
        .type = "counter",
        .unit = {},
        .format = NumberFormat::kShortest},
       "gpu,UUID"}};
}

void AddAccountingView(const ProcessAccounts& accounts, const ProcessNames& names,
                       uint32_t first_slot, PlanBuilder& plan) {
  uint32_t number = 0;
  for (FamilyDoc& doc : AccountingFamilies()) {
    plan.BeginFamily(std::move(doc.family));
    uint32_t slot = first_slot + number++;
    for (const auto& [device, rows] : accounts.table().devices()) {
      if (const auto gpu = names.gpus.find(device); gpu != names.gpus.end()) {
        const uint32_t labels =
            plan.AddLabels(RenderLabels({{"gpu", gpu->second}, {"UUID", names.uuids.at(device)}}));
        plan.AddSeries(labels, NumberSource::Slot(slot));
      }
      slot += kAccountingSlots;
    }
  }
}

uint32_t AccountingSlotCount(const ProcessAccounts& accounts) {
  return static_cast<uint32_t>(accounts.table().devices().size()) * kAccountingSlots;
}

void AppendAccounting(const ProcessAccounts& accounts, std::vector<Value>& slots) {
  for (const auto& [device, rows] : accounts.table().devices()) {
    const ShortLives::OfDevice* told = accounts.short_lives().Of(device);
    slots.push_back(ModeOf(told != nullptr ? told->accounting : Accounting::kNotRead));
    slots.push_back(told != nullptr && told->was_told
                        ? Value::OfInt64(static_cast<int64_t>(told->count))
                        : Value::OfAbsence(Absence::kNoData));
  }
}

}  // namespace podgpu
