// Every line of a page but its numbers, made once per epoch.
//
// A view (view/) describes families and series through a PlanBuilder; the plan keeps them as family
// headers, shared label blocks and references to numbers.  Per tick only numbers change, and
// rendering (text.h, openmetrics.h) is a walk over the plan that copies bytes and appends digits.
// Lines share one label block per entity, so a series costs some 16 bytes beside its family.  A
// plan is immutable once built; any thread may render from it.  It fits grids of the layout it was
// built for (same epoch, same fields) and slot arrays of the same length, which rendering checks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sample/grid.h"

namespace podgpu {

// Where a line's number comes from.
struct NumberSource {
  enum class Kind : uint8_t {
    kCell,  // `index` is Grid::CellIndex.
    kSlot,  // `index` into the tick's slot values (self metrics, states).
    kOne,   // Always 1: info series.
  };
  Kind kind = Kind::kOne;
  uint32_t index = 0;
};

// How a number is written.
enum class NumberFormat : uint8_t {
  kDcgm,      // dcgm-exporter's: integers in decimal, doubles with six decimals.
  kShortest,  // The shortest form that reads back equal; integers without a point.
};

// A metric family.  `type` is printed as it is in text 0.0.4 ("gauge", "counter", "untyped", ...);
// what OpenMetrics makes of it is openmetrics.h's business.  `unit` is for OpenMetrics ("watts"),
// empty where the name has none.
struct Family {
  std::string name;
  std::string help;
  std::string type;
  std::string unit;
  NumberFormat format = NumberFormat::kShortest;
  double scale = 1.0;  // Numbers are multiplied by this (mJ to J, percent to ratio); exactly 1
                       // leaves them untouched.
};

// A label and its value, unescaped.
struct Label {
  std::string name;
  std::string value;
};

// `a="b",c="d"` with values escaped: the content of the braces.
std::string RenderLabels(const std::vector<Label>& labels);

class SeriesPlan {
 public:
  struct Series {
    uint32_t labels = 0;  // Index into label_blocks.
    NumberSource source;
  };
  struct FamilyLines {
    Family family;
    std::string text_header;         // "# HELP ...\n# TYPE ...\n"
    std::string openmetrics_header;  // "# TYPE ...\n# UNIT ...\n# HELP ...\n"
    std::string openmetrics_name;    // The sample name in OpenMetrics, `_total` included.
    uint32_t first_series = 0;
    uint32_t series_count = 0;
  };
  // A cell whose value is part of some label (driver version, XID text) and what it was when the
  // plan was made.
  struct LabelCell {
    uint32_t cell = 0;
    Value value;
    std::string text;  // For text values.
  };

  const std::vector<FamilyLines>& families() const { return families_; }
  const std::vector<Series>& series() const { return series_; }
  const std::vector<std::string>& label_blocks() const { return label_blocks_; }

  // Whether every value that is part of a label is still what it was; if not, the plan must be
  // built anew.
  bool LabelsAreCurrent(const Grid& grid) const;

 private:
  friend class PlanBuilder;
  std::vector<FamilyLines> families_;
  std::vector<Series> series_;
  std::vector<std::string> label_blocks_;
  std::vector<LabelCell> label_cells_;
};

class PlanBuilder {
 public:
  // Registers the content of braces (from RenderLabels; may be empty) for use by any number of
  // series.
  uint32_t AddLabels(std::string rendered);

  // Begins a family; the series that follow belong to it.  Two families of one name are joined into
  // one block: all their lines stand together under the first header (upstream repeats the header,
  // which is not valid).
  void BeginFamily(Family family);

  void AddSeries(uint32_t labels, NumberSource source);

  // Says that the value of `cell` in `grid` has been written into a label.
  void DependsOn(const Grid& grid, uint32_t cell);

  SeriesPlan Build() &&;

 private:
  SeriesPlan plan_;
  std::vector<std::vector<SeriesPlan::Series>> series_by_family_;
  size_t current_ = 0;
};

}  // namespace podgpu
