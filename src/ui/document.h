// Bytes that are made once and served to many clients, with their ETag and, after the first request
// for it, their compressed form.
//
// For JSON that is made from one reading, and for files that are part of the program.  A client
// that already has the document gets 304 without a body (If-None-Match).  The first compressed
// request adds the compressed form to the document, so a document is used on one thread only, the
// HTTP thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "http/server.h"

namespace podgpu {

struct Document {
  std::string bytes;
  std::string content_type;
  std::string etag;             // The value of the header ETag: W/"..."
  size_t least_gzip_bytes = 0;  // Shorter bytes are sent as they are.
  std::string gzip{};           // Empty until the first client accepts gzip.
};

// The tag depends on the bytes alone.  `least_gzip_bytes`: for bytes that few clients read once;
// to compress a few kilobytes then costs more than to send them.
std::shared_ptr<Document> MakeDocument(std::string bytes, std::string content_type,
                                       size_t least_gzip_bytes = 0);

// Returns the document in the form that the client accepts, or 304. `document` is not null.
HttpResponse DocumentResponse(const std::shared_ptr<Document>& document,
                              const HttpRequest& request);

// Returns whether one of the tags in If-None-Match is `etag`, or the header is "*" (RFC 9110,
// 13.1.2).
bool MatchesEtag(std::string_view if_none_match, std::string_view etag);

}  // namespace podgpu
