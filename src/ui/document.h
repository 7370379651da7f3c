// Bytes that are made once and served to all who ask: their tag, and their compressed form as soon
// as somebody takes it.
//
// For JSON that is made from one reading, and for files that are part of the program.  What has not
// changed costs a header: If-None-Match is answered with 304.  A document changes only by being
// compressed, so it belongs to one thread, the HTTP thread.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "http/server.h"

namespace podgpu {

struct Document {
  std::string bytes;
  std::string content_type;
  std::string etag;    // As it stands in the header: W/"..."
  std::string gzip{};  // Empty until it is wanted.
};

// The tag depends on the bytes alone.
std::shared_ptr<Document> MakeDocument(std::string bytes, std::string content_type);

// The document in the form that the client takes, or 304.  `document` is not null.
HttpResponse DocumentResponse(const std::shared_ptr<Document>& document,
                              const HttpRequest& request);

// Whether one of the tags in If-None-Match is `etag`, or it is "*" (RFC 9110, 13.1.2).
bool MatchesEtag(std::string_view if_none_match, std::string_view etag);

}  // namespace podgpu
