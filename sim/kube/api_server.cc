#include "sim/kube/api_server.h"

#include <algorithm>
#include <csignal>
#include <fstream>
#include <netinet/in.h>
#include <sys/socket.h>

#include "base/clock.h"
#include "base/status.h"
#include "base/text.h"
#include "sim/kube/api_wire.h"

namespace podgpu::sim {
namespace {

constexpr size_t kMostEvents = 4'096;
constexpr uint64_t kLongestRetryAfter = 8;
constexpr std::string_view kGarbage = "<html>no object is here</html>\n";
constexpr std::string_view kTooMany = "Too many requests, please try again later.\n";
constexpr std::string_view kInitialEventsEnd =
    R"(,"annotations":{"k8s.io/initial-events-end":"true"})";

// With SO_REUSEADDR, since another socket holds the port without listening.
void BindLoopback(int socket, uint16_t port) {
  const int on = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  PODGPU_CHECK(::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
}

}  // namespace

FakeApi::FakeApi()
    : tls_(std::make_unique<const ApiTls>()),
      holder_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  std::signal(SIGPIPE, SIG_IGN);  // OpenSSL may write to a closed connection.
  BindLoopback(holder_.get(), 0);
  sockaddr_in address{};
  socklen_t size = sizeof address;
  PODGPU_CHECK(::getsockname(holder_.get(), reinterpret_cast<sockaddr*>(&address), &size) == 0);
  port_ = ntohs(address.sin_port);
  Listen();
  acceptor_ = std::jthread([this] { Accept(); });
}

void FakeApi::Listen() {
  listener_ = FileDescriptor(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  BindLoopback(listener_.get(), port_);
  PODGPU_CHECK(::listen(listener_.get(), 16) == 0);
}

FakeApi::~FakeApi() {
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
    for (const int socket : sockets_) {
      ::shutdown(socket, SHUT_RDWR);
    }
  }
  changed_.notify_all();
  ::shutdown(listener_.get(), SHUT_RDWR);
  acceptor_.join();
  threads_.clear();
}

void FakeApi::SetDown(bool is_down) {
  const std::scoped_lock lock(mutex_);
  if (std::exchange(is_down_, is_down) == is_down) {
    return;
  }
  if (is_down) {
    ::shutdown(listener_.get(), SHUT_RDWR);
    for (const int socket : sockets_) {
      ::shutdown(socket, SHUT_RDWR);
    }
    ++cut_round_;
  }
  changed_.notify_all();
}

void FakeApi::SetDelay(std::chrono::milliseconds delay) {
  const std::scoped_lock lock(mutex_);
  delay_ = delay;
  changed_.notify_all();
}

void FakeApi::SetGarbled(bool is_garbled) {
  const std::scoped_lock lock(mutex_);
  is_garbled_ = is_garbled;
}

std::string FakeApi::certificate() const { return tls_->Pem(); }

bool FakeApi::WriteCredentials(const std::string& directory) const {
  std::ofstream token(directory + "/token");
  std::ofstream certificate(directory + "/ca.crt");
  token << kFirstToken << std::flush;
  certificate << tls_->Pem() << std::flush;
  return token.good() && certificate.good();
}

void FakeApi::Put(std::string_view collection, const std::string& key, const std::string& metadata,
                  const std::string& rest) {
  ApiStored stored = MakeApiStored(metadata, rest);
  const std::scoped_lock lock(mutex_);
  stored.version = ++version_;
  Change(TakeApartApiPath(collection).collection, key,
         std::make_shared<const ApiStored>(std::move(stored)));
}

void FakeApi::Delete(std::string_view collection, const std::string& key) {
  const std::scoped_lock lock(mutex_);
  ++version_;
  Change(TakeApartApiPath(collection).collection, key, nullptr);
}

// Each object with the newest version.
void FakeApi::Change(const std::string& collection, const std::string& key, Object now) {
  std::map<std::string, Object>& objects = store_[collection];
  const auto known = objects.find(key);
  const Object before = known == objects.end() ? nullptr : known->second;
  PODGPU_CHECK(before != nullptr || now != nullptr);
  events_.push_back({version_, collection, key, before, now});
  if (now != nullptr) {
    objects.insert_or_assign(key, std::move(now));
  } else {
    objects.erase(known);
  }
  if (events_.size() > kMostEvents) {
    oldest_ = events_.front().version;
    events_.pop_front();
  }
  changed_.notify_all();
}

void FakeApi::PutPod(const std::string& name_space, const std::string& name, const std::string& uid,
                     const std::string& labels_json) {
  Put(kPodsPath, name_space + "/" + name,
      R"("namespace":")" + name_space + R"(","name":")" + name + R"(","uid":")" + uid +
          R"(","labels":)" + labels_json);
}

void FakeApi::Serve(const std::string& path, const std::string& body) {
  const std::scoped_lock lock(mutex_);
  fixed_[path] = body;
}

void FakeApi::Accept() {
  while (true) {
    const int socket = ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC);
    std::unique_lock lock(mutex_);
    if (socket < 0) {  // The listener was shut down.
      changed_.wait(lock, [this] { return stopping_ || !is_down_; });
    }
    if (stopping_ || is_down_) {
      ::close(socket);
      if (stopping_) {
        return;
      }
      continue;
    }
    if (socket < 0) {
      Listen();
      continue;
    }
    std::erase_if(threads_, [this](const std::jthread& thread) {
      return std::ranges::count(ended_, thread.get_id()) > 0;  // Erasing joins the thread.
    });
    ended_.clear();
    sockets_.push_back(socket);
    threads_.emplace_back([this, socket] { Run(socket); });
  }
}

void FakeApi::Run(int socket) {
  {
    ApiWire wire(*tls_, socket);
    std::string text = wire.Greet() ? wire.Receive() : std::string();
    for (; !text.empty(); text = wire.Receive()) {
      ApiRequest request(text);
      bool is_watch = false;
      const std::string answer = Answer(request, is_watch);
      AwaitDelay();
      if (!wire.Send(answer)) {
        break;
      }
      if (is_watch) {
        Watching(wire, request);
        break;
      }
    }
  }
  const std::scoped_lock lock(mutex_);
  sockets_.remove(socket);
  ended_.push_back(std::this_thread::get_id());
  ::close(socket);
}

void FakeApi::AwaitDelay() {
  std::unique_lock lock(mutex_);
  const std::chrono::milliseconds delay = delay_;
  changed_.wait_for(lock, delay, [&] { return stopping_ || delay_ != delay; });
}

std::string FakeApi::Answer(ApiRequest& request, bool& is_watch) {
  const std::scoped_lock lock(mutex_);
  request.end_round = end_round_;
  request.cut_round = cut_round_;
  requests_.push_back(request.method + " " + request.target);
  changed_.notify_all();
  if (std::string refusal = Refusal(request); !refusal.empty()) {
    return refusal;
  }
  if (const auto found = fixed_.find(request.path); found != fixed_.end()) {
    return ApiAnswer(200, found->second);
  }
  const std::string& collection = request.asked.collection;
  if (request.method == "POST") {
    return collection == kTokenReviewsPath ? AnswerTokenReview(request, users_)
                                           : AnswerAccessReview(request, permissions_);
  }
  const bool is_served = FindApiResource(collection) != nullptr &&
                         (collection == kPodsPath || store_.contains(collection));
  if (!is_served) {
    return ApiAnswer(
        404, ApiStatusObject(404, "NotFound", "the server could not find the requested resource"));
  }
  if (request.method == "PATCH") {
    return AnswerPatch(request);
  }
  is_watch = request.IsTrue("watch");
  return is_watch ? "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                    "Transfer-Encoding: chunked\r\n\r\n"
                  : AnswerObjects(request);
}

// The answer that refuses the request; empty when the server accepts it.
std::string FakeApi::Refusal(const ApiRequest& request) {
  const std::string& collection = request.asked.collection;
  const bool is_review = collection == kTokenReviewsPath || collection == kAccessReviewsPath;
  const bool is_patch = request.method == "PATCH" && !request.asked.name.empty();
  if (is_review ? request.method != "POST" : request.method != "GET" && !is_patch) {
    return ApiAnswer(405, ApiStatusObject(405, "MethodNotAllowed",
                                          "the server does not allow this method on the resource"));
  }
  if (request.authorization != "Bearer " + token_) {
    return ApiAnswer(401, ApiStatusObject(401, "Unauthorized", "Unauthorized"));
  }
  if (refusals_ > 0) {
    --refusals_;
    return refusal_text_.empty()
               ? ApiAnswer(refusal_,
                           ApiStatusObject(refusal_, "Refused", "Refused by order of the test"),
                           refusal_headers_)
               : ApiAnswer(refusal_, refusal_text_, "", "text/plain; charset=utf-8");
  }
  if (is_rate_limited_) {
    const uint64_t wait_s =
        std::min(uint64_t{1} << std::min<uint64_t>(too_many_++, 8), kLongestRetryAfter);
    return ApiAnswer(429, std::string(kTooMany), "Retry-After: " + std::to_string(wait_s) + "\r\n",
                     "text/plain; charset=utf-8");
  }
  if (is_forbidden_ || !IsGranted(request)) {
    return ApiAnswer(403, ApiStatusObject(403, "Forbidden", ForbiddenSentence(request)));
  }
  return is_garbled_ ? ApiAnswer(200, std::string(kGarbage)) : std::string();
}

// Every account may read which groups and versions are served.
bool FakeApi::IsGranted(const ApiRequest& request) {
  const bool is_discovery = FindApiResource(request.asked.collection) == nullptr;
  if (!grants_ || is_discovery) {
    return true;
  }
  bool is_granted = false;
  for (size_t i = 0; i < grants_->size(); ++i) {
    if (Allows((*grants_)[i], request)) {
      used_grants_.insert(i);
      is_granted = true;
    }
  }
  if (!is_granted) {
    forbidden_.push_back(request.method + " " + request.target);
  }
  return is_granted;
}

// One object, or a list.
std::string FakeApi::AnswerObjects(const ApiRequest& request) {
  const ApiPath& asked = request.asked;
  if (asked.name.empty()) {
    return ListPage(request);
  }
  const auto& objects = store_[asked.collection];
  const auto found =
      objects.find(asked.name_space.empty() ? asked.name : asked.name_space + "/" + asked.name);
  if (found == objects.end()) {
    return ApiAnswer(404, ApiStatusObject(404, "NotFound", "\"" + asked.name + "\" is not found"));
  }
  return ApiAnswer(200, request.TextOf(*found->second, false));
}

// "resourceVersion=0" is answered from the cache without a limit: seen on Kubernetes 1.31 to 1.37.
std::string FakeApi::ListPage(const ApiRequest& request) {
  const auto& objects = store_[request.asked.collection];
  const std::string token = request.Query("continue");
  if (!token.empty() && expired_pages_ > 0) {
    --expired_pages_;
    return ApiAnswer(410,
                     ApiStatusObject(410, "Expired", "The provided continue parameter is too old"));
  }
  const bool is_cached = token.empty() && request.Query("resourceVersion") == "0";
  size_t limit = request.NumberIn("limit");
  limit = page_ > 0 && (limit == 0 || page_ < limit) ? page_ : limit;
  const size_t slash = token.find('/');
  auto at =
      slash == std::string::npos ? objects.begin() : objects.upper_bound(token.substr(slash + 1));
  const std::string version =
      !listed_version_.empty() ? listed_version_
      : token.empty()          ? std::to_string(version_)
                      : token.substr(0, slash);  // All pages have the version of the first one.
  std::string items;
  std::string next;
  size_t count = 0;
  for (; at != objects.end(); ++at) {
    if (!request.Selects(at->first, *at->second)) {
      continue;
    }
    if (!is_cached && limit > 0 && count == limit) {
      next = version + "/" + std::prev(at)->first;
      break;
    }
    items += (count++ == 0 ? "" : ",") + request.TextOf(*at->second, true);
  }
  return ApiAnswer(200, request.ListText(items, version, next));
}

// The position of a watch in the list of events.
struct FakeApi::Sent {
  uint64_t version = 0;
  uint64_t raw_round = 0;
};

// Sends the events since then.  An object that no longer matches the selector is sent as deleted.
std::string FakeApi::EventsFor(const ApiRequest& request, Sent& sent) const {
  std::string bytes;
  for (const Event& event : events_) {
    if (event.version <= sent.version || event.collection != request.asked.collection) {
      continue;
    }
    sent.version = event.version;
    const bool was = event.before != nullptr && request.Selects(event.key, *event.before);
    const bool is = event.now != nullptr && request.Selects(event.key, *event.now);
    if (was || is) {
      ApiStored object = event.now != nullptr ? *event.now : *event.before;
      object.version = event.version;
      const char* const type = !was ? "ADDED" : is ? "MODIFIED" : "DELETED";
      bytes += R"({"type":")" + std::string(type) + R"(","object":)" +
               request.TextOf(object, false) + "}\n";
    }
  }
  if (sent.raw_round != raw_round_) {
    bytes += raw_;
    sent.raw_round = raw_round_;
  }
  return bytes;
}

std::string FakeApi::Bookmark(const ApiRequest& request, std::string_view annotations) const {
  ApiStored nothing;
  nothing.metadata = "\"creationTimestamp\":null" + std::string(annotations);
  nothing.version = version_;
  return R"({"type":"BOOKMARK","object":)" + request.TextOf(nothing, false) + "}\n";
}

// A watch without a version begins with an event for each object that exists.
std::string FakeApi::InitialEvents(const ApiRequest& request) {
  std::string bytes;
  for (const auto& [key, object] : store_[request.asked.collection]) {
    if (request.Selects(key, *object)) {
      bytes += R"({"type":"ADDED","object":)" + request.TextOf(*object, false) + "}\n";
    }
  }
  if (request.IsTrue("sendInitialEvents")) {
    bytes += Bookmark(request, kInitialEventsEnd);
  }
  return bytes;
}

std::string FakeApi::PeriodicBookmark(const ApiRequest& request) {
  if (is_silent_) {
    return {};
  }
  ++bookmarks_;
  changed_.notify_all();
  return Bookmark(request, "");
}

void FakeApi::Watching(ApiWire& wire, const ApiRequest& request) {
  const SystemClock clock;
  std::unique_lock lock(mutex_);
  const std::string since = request.Query("resourceVersion");
  const bool wants_all = since.empty() || since == "0";
  Sent sent{wants_all ? version_ : ParseDecimal(since).value_or(0), raw_round_};
  if (sent.version < oldest_) {
    wire.Send(ApiChunk(R"({"type":"ERROR","object":)" +
                       ApiStatusObject(410, "Expired", "too old resource version: " + since) +
                       "}\n") +
              ApiChunk(""));
    return;
  }
  std::string bytes = wants_all ? InitialEvents(request) : std::string();
  const uint64_t seconds = request.NumberIn("timeoutSeconds");
  const auto end = clock.Now() + std::chrono::seconds(seconds > 0 ? seconds : 3'600);
  const bool wants_bookmarks = request.IsTrue("allowWatchBookmarks");
  auto bookmark_at = clock.Now() + bookmark_period_;
  bool is_new = true;
  while (!stopping_ && request.end_round == end_round_ && request.cut_round == cut_round_ &&
         clock.Now() < end) {
    bytes += is_silent_ ? std::string() : EventsFor(request, sent);
    if (wants_bookmarks && clock.Now() >= bookmark_at) {
      bookmark_at = clock.Now() + bookmark_period_;
      bytes += PeriodicBookmark(request);
    }
    if (!bytes.empty() && !wire.Send(ApiChunk(bytes))) {
      return;
    }
    bytes.clear();
    ++idle_watches_;
    if (std::exchange(is_new, false)) {
      changed_.notify_all();
    }
    const auto wake = wants_bookmarks ? std::min(bookmark_at, clock.Now() + bookmark_period_) : end;
    changed_.wait_until(lock, std::min(wake, end));
    --idle_watches_;
  }
  if (request.cut_round == cut_round_ && !stopping_) {
    wire.Send(ApiChunk(""));
  }
  wire.Cut();
}

}  // namespace podgpu::sim
