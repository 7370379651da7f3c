// HTTP responses that exporter and cluster role share: pages, JSON, HTML, redirects and "not
// found".
//
// Pure functions, except that a snapshot makes each form of its page once.  Called on the HTTP
// thread.
#pragma once

#include <memory>
#include <string>

#include "exposition/snapshot.h"
#include "http/server.h"

namespace podgpu {

void AddHeader(HttpResponse& response, std::string name, std::string value);

// Adds the policy of our HTML pages and their files: no inline script or style, no other origin, no
// frame around the page, and no address of the page in requests that its links lead to.
void AddPagePolicy(HttpResponse& response);

// HTML with this policy.
HttpResponse HtmlResponse(std::string page);

// JSON that no cache may keep.
HttpResponse JsonResponse(int status, std::string body);

// The page in the form that the client requests; 503 before the first page.
HttpResponse PageResponse(std::shared_ptr<const Snapshot> snapshot, const HttpRequest& request);

// Response for a path without a route: redirects another spelling of a path to the clean one, as
// dcgm-exporter does; every other path is not found.
HttpResponse ServeElsewhere(const HttpRequest& request);

}  // namespace podgpu
