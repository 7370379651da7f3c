#include "cluster/node_poller.h"

#include <algorithm>

#include "absl/strings/str_format.h"

#include "base/log.h"
#include "base/text.h"
#include "exposition/gzip.h"

namespace podgpu {
namespace {

constexpr std::string_view kReportPath = "/api/v1/node";
constexpr std::chrono::seconds kLongestPause{1};
constexpr int kStatusOk = 200;
constexpr int kStatusUnchanged = 304;

std::string_view RemedyFor(int status) {
  if (status == 401 || status == 403) {
    return ": the node requires a password or certificate; set it in --node-web-config";
  }
  return status == 404 ? ": check that podgpu of this release runs there" : "";
}

// Nodes of older releases send whole seconds only.
Duration AgeOf(const HttpAnswer& answer) {
  return answer.exact_age ? Duration(*answer.exact_age) : Duration(answer.age);
}

}  // namespace

NodePoller::NodePoller(PollerOptions options, const Published<NodeList>& found, const Files& files,
                       Clock& clock, Wakeup& tick)
    : options_(std::move(options)),
      found_(found),
      clock_(clock),
      tick_(tick),
      client_(options_.client),
      schedule_(options_.pace, options_.seed),
      access_(options_.node_web_config, false, files, clock) {
  fleet_.Set(std::make_shared<const Fleet>());
}

void NodePoller::Run(const std::stop_token& stop) {
  const std::stop_callback wake(stop, [this] { client_.Interrupt(); });
  while (!stop.stop_requested()) {
    access_.Refresh(client_);
    TakeNodes();
    AskDue();
    PublishIfDue();
    client_.Run(NextWake());
  }
}

void NodePoller::TakeNodes() {
  const std::shared_ptr<const NodeList> list = found_.Get();
  if (list == list_ || list == nullptr) {
    return;
  }
  list_ = list;
  std::vector<std::string> ids;
  for (const NodeAddress& address : list->addresses) {
    Known& known = nodes_[address.id];
    if (known.entry.address !=
        address) {  // A new node, or its name now resolves to another address.
      known = Known();
      known.entry.address = address;
    }
    ids.push_back(address.id);
  }
  std::erase_if(nodes_, [&](const auto& entry) {
    return !std::ranges::binary_search(list->addresses, entry.first, {}, &NodeAddress::id);
  });
  schedule_.SetNodes(ids, clock_.Now());
  has_news_ = true;
}

void NodePoller::AskDue() {
  for (const std::string& id : schedule_.TakeDue(clock_.Now())) {
    Ask(id);
  }
}

void NodePoller::Ask(const std::string& id) {
  const Known& known = nodes_.at(id);
  const NodeAddress& address = known.entry.address;
  const NodeWebAccess& access = access_.access();
  HttpQuestion question;
  question.ip = address.ip;
  question.port = address.port;
  question.host = id;
  question.path = kReportPath;
  question.certificate_name = access.server_name.empty() ? address.name : access.server_name;
  question.authorization = access.authorization;
  question.etag = known.etag;
  client_.Ask(std::move(question),
              [this, id](StatusOr<HttpAnswer> answer) { Take(id, std::move(answer)); });
}

void NodePoller::Take(const std::string& id, StatusOr<HttpAnswer> answer) {
  const auto found = nodes_.find(id);
  if (found == nodes_.end()) {  // Removed from the list meanwhile.
    schedule_.Failed(id, clock_.Now());
    return;
  }
  auto& [entry, etag] = found->second;
  const bool was_good = !entry.last || IsGood(*entry.last);
  const std::string before = entry.detail;
  const FetchResult result = Judge(entry, answer);
  entry.last = result;
  ++fetches_[static_cast<size_t>(result)];
  has_news_ = true;
  if (IsGood(result)) {
    entry.detail.clear();
    etag = answer->etag;
    schedule_.Succeeded(id, clock_.Now());
  } else {
    ++entry.failures;
    etag.clear();
    schedule_.Failed(id, clock_.Now());
  }
  if (was_good != IsGood(result)) {
    Log(was_good ? LogLevel::kWarn : LogLevel::kInfo,
        was_good ? "a node cannot be read" : "a node can be read again",
        {{"address", id}, {"detail", was_good ? entry.detail : "before: " + before}});
  }
}

FetchResult NodePoller::Judge(NodeEntry& node, const StatusOr<HttpAnswer>& answer) {
  if (!answer.ok()) {
    node.detail = std::string(answer.status().message());
    return FetchResultOf(answer.status());
  }
  if (answer->status == kStatusUnchanged && node.report != nullptr) {
    node.read_at = clock_.Now() - AgeOf(*answer);
    return FetchResult::kUnchanged;
  }
  if (answer->status != kStatusOk) {
    node.detail = absl::StrFormat("it answers %d%s", answer->status, RemedyFor(answer->status));
    return FetchResult::kRefused;
  }
  return TakeReport(node, *answer);
}

FetchResult NodePoller::TakeReport(NodeEntry& node, const HttpAnswer& answer) {
  StatusOr<std::string> inflated = std::string();
  if (answer.content_encoding == "gzip") {
    inflated = Inflate(answer.body, options_.max_report_bytes);
    if (!inflated.ok()) {
      node.detail = std::string(inflated.status().message());
      return absl::IsResourceExhausted(inflated.status()) ? FetchResult::kTooLarge
                                                          : FetchResult::kBroken;
    }
  }
  StatusOr<NodeReport> report =
      ReadNodeReport(answer.content_encoding == "gzip" ? *inflated : answer.body);
  if (!report.ok()) {
    node.detail = std::string(report.status().message());
    return absl::IsUnimplemented(report.status()) ? FetchResult::kSchema
                                                  : FetchResult::kNotUnderstood;
  }
  if (!node.address.expected_node.empty() && report->node != node.address.expected_node) {
    node.detail = absl::StrFormat("the node calls itself %s but is known as %s",
                                  Quoted(report->node), Quoted(node.address.expected_node));
    return FetchResult::kWrongNode;
  }
  if (node.report == nullptr || !NameTheSameHolders(*node.report, *report)) {
    node.holders_revision = ++revisions_;
  }
  node.read_at = clock_.Now() - AgeOf(answer);
  node.idle = std::make_shared<const IdleSpells>(ContinueIdle(
      node.idle == nullptr ? IdleSpells() : *node.idle, node.report.get(), *report, node.read_at));
  node.report = std::make_shared<const NodeReport>(*std::move(report));
  return FetchResult::kOk;
}

void NodePoller::PublishIfDue() {
  const Instant now = clock_.Now();
  if (!has_news_ || now < published_at_ + options_.publish_every) {
    return;
  }
  auto fleet = std::make_shared<Fleet>();
  fleet->nodes.reserve(nodes_.size());
  for (const auto& [id, known] : nodes_) {
    fleet->nodes.push_back(known.entry);
  }
  fleet->fetches = fetches_;
  fleet_.Set(std::move(fleet));
  has_news_ = false;
  published_at_ = now;
  tick_.Nudge();
}

Instant NodePoller::NextWake() const {
  Instant wake = std::min(schedule_.next_due(), clock_.Now() + kLongestPause);
  if (has_news_) {
    wake = std::min(wake, published_at_ + options_.publish_every);
  }
  return wake;
}

}  // namespace podgpu
