// All lines of a page without their numbers, made once per epoch.
//
// A view (view/) describes families and series through a PlanBuilder; the plan keeps them as family
// headers, shared label blocks and references to numbers.  Each tick changes only the numbers, so
// rendering (text.h) copies bytes from the plan and appends digits.  The lines of an
// entity share one label block, so a series costs 16 bytes besides its family.  A plan is immutable
// once built; any thread may render from it.  It fits grids with the layout that it was built for
// (same epoch, same fields) and slot arrays that are long enough; rendering checks this.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "exposition/labels.h"
#include "sample/grid.h"

namespace podgpu {

// The source of a line's number.
struct NumberSource {
  enum class Kind : uint8_t {
    kCell,  // `index` is Grid::CellIndex.
    kSlot,  // `index` into the tick's slot values (self metrics, states).
    kOne,   // Always 1: info series.
    kBit,   // 1 where bit `bit` of the integer in cell `index` is set, else 0.
    kWord,  // 1 where the integer in cell `index` is `bit`, else 0: one word of an enumeration.
  };
  Kind kind = Kind::kOne;
  uint8_t bit = 0;
  uint32_t index = 0;

  static constexpr NumberSource Cell(size_t index) {
    return {Kind::kCell, 0, static_cast<uint32_t>(index)};
  }
  static constexpr NumberSource Slot(size_t index) {
    return {Kind::kSlot, 0, static_cast<uint32_t>(index)};
  }
  static constexpr NumberSource One() { return {}; }
  static constexpr NumberSource Bit(size_t index, uint8_t bit) {
    return {Kind::kBit, bit, static_cast<uint32_t>(index)};
  }
  static constexpr NumberSource Word(size_t index, uint8_t number) {
    return {Kind::kWord, number, static_cast<uint32_t>(index)};
  }
};

// The form in which a number is written.
enum class NumberFormat : uint8_t {
  kDcgm,      // dcgm-exporter's: integers in decimal, doubles with six decimals.
  kShortest,  // The shortest form that reads back equal; integers without a point.
  kFloat,     // As kShortest, but integers have ".0": the form of Python's client.
  kMilli,     // The form of dcgmi dmon: integers in decimal, doubles with three decimals.
  // dcgm-exporter's since 4.8.3, by Prometheus' Go encoder: each number is a double with at most
  // six decimals, in its shortest form, with an exponent from a million on and below 0.0001.
  kGo,
};

// Returns whether it is a form of dcgm-exporter.
constexpr bool IsDcgmExporters(NumberFormat format) {
  return format == NumberFormat::kDcgm || format == NumberFormat::kGo;
}

// A metric family. `type` is printed unchanged in text 0.0.4 ("gauge", "counter", "untyped",
// "histogram" or "summary").  In OpenMetrics a counter whose name ends in _total stays a counter.
// Other counters become "unknown", and so do histograms and summaries, which have no buckets or
// quantiles here. `unit` is for OpenMetrics ("watts"); it is printed if the name ends in it.
struct Family {
  std::string name;
  std::string help;
  std::string type;
  std::string unit;
  NumberFormat format = NumberFormat::kShortest;
  double scale = 1.0;  // Numbers are multiplied by this (mJ to J, percent to ratio): see
                       // AppendNumber.
};

class SeriesPlan {
 public:
  struct Series {
    NumberSource source;
    uint32_t labels = 0;  // Index into label_blocks.
    uint16_t scale = 0;   // Index into scales.
  };
  struct FamilyLines {
    Family family;
    std::string text_header;           // "# HELP ...\n# TYPE ...\n"
    std::string openmetrics_header;    // "# TYPE ...\n# UNIT ...\n# HELP ...\n"
    bool openmetrics_counter = false;  // Its values are at least 0 there.
    uint32_t first_series = 0;
    uint32_t series_count = 0;
  };
  // A cell whose value is part of a label (driver version, XID text), and its value when the plan
  // was made.
  struct LabelCell {
    uint32_t cell = 0;
    Value value;
    std::string text;  // For text values.
  };

  // The layout that a grid and a plan that refers to it must share.
  struct GridShape {
    uint64_t epoch = 0;
    size_t cell_count = 0;
    bool operator==(const GridShape&) const = default;
  };

  const std::vector<FamilyLines>& families() const { return families_; }
  const std::vector<Series>& series() const { return series_; }
  // The text between name and number: `{a="b"} `, or a blank if there are no labels.
  const std::vector<std::string>& label_blocks() const { return label_blocks_; }
  const std::vector<double>& scales() const { return scales_; }

  // Returns whether numbers can be read from these: `grid` must have the layout that the plan was
  // built for (null only if the plan refers to slots alone), and there must be enough slots.
  bool Fits(const Grid* grid, std::span<const Value> slots) const;

  // Returns how many values of single pods have no line, because they are not known.
  size_t unknown_pod_values() const { return unknown_pod_values_; }

  // Returns whether every value that is part of a label is unchanged; if not, a new plan is needed.
  bool LabelsAreCurrent(const Grid& grid) const;

 private:
  friend class PlanBuilder;
  std::vector<FamilyLines> families_;
  std::vector<Series> series_;
  std::vector<std::string> label_blocks_;
  std::vector<double> scales_;
  std::vector<LabelCell> label_cells_;
  size_t needed_cells_ = 0;  // One more than the largest index of a cell.
  size_t needed_slots_ = 0;
  size_t unknown_pod_values_ = 0;
  std::optional<GridShape> shape_;
};

class PlanBuilder {
 public:
  // Sets the grid that the cell indices refer to.
  void CountCellsIn(const Grid& grid);

  // Registers the content of braces (from RenderLabels; may be empty); any number of series may use
  // it. `sort_key`: for SortFamilies.
  uint32_t AddLabels(std::string rendered, std::string sort_key = {});

  // Begins a family; the following series belong to it.  Two families of the same name become one
  // block: all lines are under the first header, in the first number format. (dcgm-exporter repeats
  // the header, which the format does not allow.)
  void BeginFamily(Family family);

  // Restricts the following lines to these slots, those of one section (page_builder.h).  Before
  // the first call all slots are allowed.
  void AllowSlots(uint32_t first, uint32_t count);

  // Adds a line to the current family; the default scale is the family's.
  void AddSeries(uint32_t labels, NumberSource source, std::optional<double> scale = std::nullopt);

  // Counts a value of a single pod that gets no line, because it is not known.
  void CountUnknownPodValue() { ++plan_.unknown_pod_values_; }

  // Records that the value of `cell` in `grid` is part of a label.
  void DependsOn(const Grid& grid, uint32_t cell);

  size_t family_count() const { return series_by_family_.size(); }

  // Sorts the families from index `first` on by name, and the lines of each by their sort keys.
  void SortFamilies(size_t first);

  // Removes whole families in dcgm-exporter's format, the last ones first, until at most `budget`
  // series remain or no such family is left.  Returns how many series were removed.
  size_t TrimTo(size_t budget);

  SeriesPlan Build() &&;

 private:
  uint16_t ScaleIndex(double scale);

  SeriesPlan plan_;
  std::vector<std::string> sort_keys_;  // Of the label blocks.
  std::vector<std::vector<SeriesPlan::Series>> series_by_family_;
  std::unordered_map<std::string, size_t> family_by_name_;
  size_t current_ = 0;
  double current_scale_ = 1.0;
  uint64_t first_allowed_slot_ = 0;
  uint64_t end_of_allowed_slots_ = uint64_t{1} << 32U;
};

}  // namespace podgpu
