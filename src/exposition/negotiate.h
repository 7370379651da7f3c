// Chooses the form of a page from what a client says it takes.
//
// Accept decides between text 0.0.4 and OpenMetrics 1.0.0, Accept-Encoding between gzip and plain
// bytes.  Nothing a client sends is refused: no header, garbage or unknown types give plain text
// 0.0.4.  Pure functions; any thread.
#pragma once

#include <string_view>

namespace podgpu {

struct PageForm {
  bool openmetrics = false;
  bool gzip = false;
  bool operator==(const PageForm&) const = default;
};

// From the values of the two headers, each empty when it is missing.  The entry with the highest q
// wins, the earlier of equals; q=0 excludes.  OpenMetrics is offered as version 1.0.0 only: an
// entry matches with that version or without one.
PageForm ChooseForm(std::string_view accept, std::string_view accept_encoding);

}  // namespace podgpu
