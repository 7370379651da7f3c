// Renders the pages of one exporter in Prometheus' text format, each from the page before it.
//
// Most numbers stay the same from tick to tick.  While the plan stays, and the same lines have
// numbers, the renderer copies the last page and writes only the numbers that have changed, so a
// tick costs what has changed.  In all other cases it renders the whole page (text.h).  Both ways
// give the same bytes.  Remembers 16 bytes for each series.  Used on one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "exposition/series_plan.h"
#include "exposition/text.h"
#include "sample/grid.h"
#include "sample/value.h"

namespace podgpu {

class TextRenderer {
 public:
  // Renders and returns the page.  `last` is the result of the last call, or a text of another
  // length, which has no effect.  The plan must fit, as in RenderText.
  std::string Render(const std::shared_ptr<const SeriesPlan>& plan, const Grid* grid,
                     std::span<const Value> slots, std::string_view last);

  // Number of lines with a number on the last page.
  size_t series_count() const { return series_count_; }
  // Returns how many numbers the last call wrote; the others were copied with the text around them.
  size_t numbers_written() const { return numbers_written_; }

 private:
  bool RenderChanges(const Numbers& numbers, std::string_view last, std::string& page);
  void RenderAll(const Numbers& numbers, std::string& page);

  std::shared_ptr<const SeriesPlan> plan_;  // Plan of the last page; null before the first.
  std::vector<NumberPlace> places_;         // Place of each series of the plan.
  size_t last_bytes_ = 0;
  size_t series_count_ = 0;
  size_t numbers_written_ = 0;
};

}  // namespace podgpu
