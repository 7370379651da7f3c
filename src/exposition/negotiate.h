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

// Takes the values of the two headers; empty if missing.  The entry with the highest q wins, and
// the earlier one of equals; q=0 excludes.  OpenMetrics exists as version 1.0.0 only: an entry
// matches with this version or without a version.
PageForm ChooseForm(std::string_view accept, std::string_view accept_encoding);

}  // namespace podgpu
