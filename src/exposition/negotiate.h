// Chooses format and compression of a page from the request headers of a client.
//
// Accept decides between text 0.0.4 and OpenMetrics 1.0.0, Accept-Encoding between gzip and plain
// bytes (RFC 9110, 12.5).  No header value is refused: without a header, and for invalid or unknown
// types, the client gets plain text 0.0.4.  Pure functions; any thread.
#pragma once

#include <string_view>

namespace podgpu {

struct PageForm {
  bool openmetrics = false;
  bool gzip = false;
  bool operator==(const PageForm&) const = default;
};

// Takes the values of the two headers; empty if missing.  An entry with q=0 excludes what it names.
// The answer is text for every client that takes text: only one that names OpenMetrics, without a
// version or as 1.0.0, and excludes or omits text gets OpenMetrics.  Of gzip and plain bytes the
// higher q wins, gzip if they are equal.
PageForm ChooseForm(std::string_view accept, std::string_view accept_encoding);

}  // namespace podgpu
