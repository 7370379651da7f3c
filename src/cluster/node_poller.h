// Requests the report of every node at regular intervals, and checks every answer.
//
// One thread sends and receives for all nodes.  A node that hangs, or sends wrong or too much data,
// costs one socket until its deadline; it is named and counted, and does not delay the requests to
// other nodes.  While answers arrive, a new Fleet is published at a limited rate.  Run is the body
// of that thread; the rest may be called from any thread.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "base/clock.h"
#include "base/published.h"
#include "base/wakeup.h"
#include "cluster/client_access.h"
#include "cluster/discovery.h"
#include "cluster/fleet.h"
#include "cluster/poll_schedule.h"
#include "http/client.h"

namespace podgpu {

struct PollerOptions {
  PollPace pace;
  HttpClientOptions client;  // The deadline applies to one request.
  size_t max_report_bytes = size_t{4} << 20;
  std::chrono::milliseconds publish_every{1'000};
  std::string node_web_config;  // TLS and credentials; empty: plain HTTP.  Read every 10 s.
  uint32_t seed = 0;
};

class NodePoller {
 public:
  // All borrowed objects must outlive the poller. `tick` is nudged when a Fleet is published.
  NodePoller(PollerOptions options, const Published<NodeList>& found, const Files& files,
             Clock& clock, Wakeup& tick);

  void Run(const std::stop_token& stop);
  // Makes the poller read the list of nodes at once.
  void Nudge() { client_.Interrupt(); }

  // Never null.
  const Published<Fleet>& fleet() const { return fleet_; }

 private:
  void TakeNodes();
  void AskDue();
  void Ask(const std::string& id);
  void Take(const std::string& id, StatusOr<HttpAnswer> answer);
  // Updates `node` from `answer`.  Returns the result; the reason of a failure is in `node.detail`.
  FetchResult Judge(NodeEntry& node, const StatusOr<HttpAnswer>& answer);
  FetchResult TakeReport(NodeEntry& node, const HttpAnswer& answer);
  void PublishIfDue();
  Instant NextWake() const;

  const PollerOptions options_;
  const Published<NodeList>& found_;
  Clock& clock_;
  Wakeup& tick_;
  HttpClient client_;
  PollSchedule schedule_;
  ClientAccess access_;
  std::shared_ptr<const NodeList> list_;  // The list that the schedule was made for.
  struct Known {
    NodeEntry entry;
    std::string etag;
  };
  std::map<std::string, Known> nodes_;
  std::array<uint64_t, kFetchResultCount> fetches_{};
  uint64_t revisions_ = 0;  // The last revision given to any node.
  bool has_news_ = false;
  Instant published_at_{};
  Published<Fleet> fleet_;
};

}  // namespace podgpu
