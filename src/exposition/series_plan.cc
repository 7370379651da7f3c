#include "exposition/series_plan.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <set>
#include <utility>

#include "base/status.h"
#include "exposition/escape.h"

namespace podgpu {
namespace {

constexpr std::array<std::string_view, 5> kTypes = {"gauge", "counter", "untyped", "histogram",
                                                    "summary"};
constexpr std::string_view kTotal = "_total";

// Returns whether both values give the same label: ages and reasons of absence are never part of a
// label.
bool SameForLabels(const Value& a, const Value& b) {
  if (a.kind() != b.kind()) {
    return false;
  }
  return a.kind() == Value::Kind::kAbsent || a.kind() == Value::Kind::kText ||
         a.int64() == b.int64();
}

std::string TextHeader(const Family& family) {
  return "# HELP " + family.name + " " + TextHelp(family.help) + "\n# TYPE " + family.name + " " +
         family.type + "\n";
}

// Name and type of a family in the metadata lines of OpenMetrics.
struct OpenMetricsFace {
  std::string family;
  std::string_view type;
};

// `names`: the names of all families of the page.  In OpenMetrics a counter "x_total" belongs to a
// family "x".  If the page has another family "x", the type of the counter becomes unknown.
OpenMetricsFace FaceOf(const Family& family, const std::set<std::string_view>& names) {
  if (family.type == "counter" && family.name.ends_with(kTotal)) {
    std::string stem = family.name.substr(0, family.name.size() - kTotal.size());
    if (!stem.empty() && !names.contains(stem)) {
      return {std::move(stem), "counter"};
    }
  }
  return {family.name, family.type == "gauge" ? "gauge" : "unknown"};
}

std::string OpenMetricsHeader(const Family& family, const OpenMetricsFace& face) {
  std::string header = "# TYPE " + face.family + " " + std::string(face.type) + "\n";
  if (!family.unit.empty() && face.family.ends_with("_" + family.unit)) {
    header += "# UNIT " + face.family + " " + family.unit + "\n";
  }
  if (!family.help.empty()) {
    header += "# HELP " + face.family + " " + OpenMetricsHelp(family.help) + "\n";
  }
  return header;
}

}  // namespace

bool SeriesPlan::Fits(const Grid* grid, std::span<const Value> slots) const {
  if (slots.size() < needed_slots_) {
    return false;
  }
  if (grid == nullptr) {
    return needed_cells_ == 0;
  }
  const GridShape shape{grid->topology().epoch, grid->cells().size()};
  return shape.cell_count >= needed_cells_ && (!shape_ || *shape_ == shape);
}

bool SeriesPlan::LabelsAreCurrent(const Grid& grid) const {
  return std::ranges::all_of(label_cells_, [&](const LabelCell& label) {
    if (label.cell >= grid.cells().size()) {
      return false;
    }
    const Value& now = grid.cells()[label.cell];
    return SameForLabels(now, label.value) &&
           (now.kind() != Value::Kind::kText || grid.text(now) == label.text);
  });
}

void PlanBuilder::CountCellsIn(const Grid& grid) {
  const SeriesPlan::GridShape shape{grid.topology().epoch, grid.cells().size()};
  PODGPU_CHECK(!plan_.shape_ || *plan_.shape_ == shape);
  plan_.shape_ = shape;
}

uint32_t PlanBuilder::AddLabels(std::string rendered, std::string sort_key) {
  sort_keys_.push_back(std::move(sort_key));
  plan_.label_blocks_.push_back(rendered.empty() ? " " : "{" + std::move(rendered) + "} ");
  return static_cast<uint32_t>(plan_.label_blocks_.size() - 1);
}

void PlanBuilder::BeginFamily(Family family) {
  PODGPU_CHECK(IsMetricName(family.name));
  PODGPU_CHECK(std::ranges::find(kTypes, family.type) != kTypes.end());
  current_scale_ = family.scale;
  const auto [entry, is_new] = family_by_name_.emplace(family.name, plan_.families_.size());
  current_ = entry->second;
  if (is_new) {
    plan_.families_.emplace_back().family = std::move(family);
    series_by_family_.emplace_back();
  }
}

void PlanBuilder::AllowSlots(uint32_t first, uint32_t count) {
  first_allowed_slot_ = first;
  end_of_allowed_slots_ = uint64_t{first} + count;
}

void PlanBuilder::AddSeries(uint32_t labels, NumberSource source, std::optional<double> scale) {
  PODGPU_CHECK(current_ < series_by_family_.size());
  PODGPU_CHECK(labels < plan_.label_blocks_.size());
  PODGPU_CHECK(source.kind != NumberSource::Kind::kBit || source.bit < 64);
  PODGPU_CHECK(source.kind != NumberSource::Kind::kSlot ||
               (source.index >= first_allowed_slot_ && source.index < end_of_allowed_slots_));
  size_t unused = 0;
  size_t& needed = source.kind == NumberSource::Kind::kSlot  ? plan_.needed_slots_
                   : source.kind == NumberSource::Kind::kOne ? unused
                                                             : plan_.needed_cells_;
  needed = std::max(needed, size_t{source.index} + 1);
  series_by_family_[current_].push_back(
      {.source = source, .labels = labels, .scale = ScaleIndex(scale.value_or(current_scale_))});
}

uint16_t PlanBuilder::ScaleIndex(double scale) {
  std::vector<double>& scales = plan_.scales_;
  const auto found = std::ranges::find(scales, scale);
  const auto index = static_cast<uint16_t>(found - scales.begin());
  if (found == scales.end()) {
    scales.push_back(scale);
  }
  return index;
}

void PlanBuilder::DependsOn(const Grid& grid, uint32_t cell) {
  CountCellsIn(grid);
  PODGPU_CHECK(cell < grid.cells().size());
  const Value& value = grid.cells()[cell];
  plan_.label_cells_.push_back(
      {.cell = cell,
       .value = value,
       .text = value.kind() == Value::Kind::kText ? grid.text(value) : std::string()});
}

void PlanBuilder::SortFamilies(size_t first) {
  std::vector<size_t> order(series_by_family_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::sort(order.begin() + static_cast<std::ptrdiff_t>(first), order.end(), {},
                    [this](size_t i) { return std::string_view(plan_.families_[i].family.name); });
  std::vector<SeriesPlan::FamilyLines> families;
  std::vector<std::vector<SeriesPlan::Series>> series;
  for (const size_t i : order) {
    family_by_name_[plan_.families_[i].family.name] = families.size();
    families.push_back(std::move(plan_.families_[i]));
    series.push_back(std::move(series_by_family_[i]));
    if (families.size() > first) {
      std::ranges::stable_sort(series.back(), {}, [this](const SeriesPlan::Series& line) {
        return std::string_view(sort_keys_[line.labels]);
      });
    }
  }
  plan_.families_ = std::move(families);
  series_by_family_ = std::move(series);
  current_ = series_by_family_.size();
}

// A family is kept or left out whole: sums and joins over a part of its series would be wrong.
// The last families on the page go first.
size_t PlanBuilder::TrimTo(size_t budget) {
  size_t left = 0;
  for (const auto& series : series_by_family_) {
    left += series.size();
  }
  size_t dropped = 0;
  for (size_t i = series_by_family_.size(); i-- > 0 && left > budget;) {
    if (IsDcgmExporters(plan_.families_[i].family.format)) {
      dropped += series_by_family_[i].size();
      left -= series_by_family_[i].size();
      series_by_family_[i].clear();
    }
  }
  return dropped;
}

SeriesPlan PlanBuilder::Build() && {
  std::set<std::string_view> names;
  for (const SeriesPlan::FamilyLines& lines : plan_.families_) {
    names.insert(lines.family.name);
  }
  for (size_t i = 0; i < plan_.families_.size(); ++i) {
    SeriesPlan::FamilyLines& lines = plan_.families_[i];
    const OpenMetricsFace face = FaceOf(lines.family, names);
    lines.text_header = TextHeader(lines.family);
    lines.openmetrics_header = OpenMetricsHeader(lines.family, face);
    lines.openmetrics_counter = face.type == "counter";
    lines.first_series = static_cast<uint32_t>(plan_.series_.size());
    lines.series_count = static_cast<uint32_t>(series_by_family_[i].size());
    plan_.series_.insert(plan_.series_.end(), series_by_family_[i].begin(),
                         series_by_family_[i].end());
  }
  return std::move(plan_);
}

}  // namespace podgpu
