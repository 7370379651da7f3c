// A simulated API server of a cluster: TLS on its own port, lists and watches over a small store,
// and the failures that a test orders.
//
// It shares no code with the client: answers are written as text, over blocking sockets and plain
// OpenSSL.  A change of the store is an event of every open watch of that collection, with the next
// version; a watch from a version older than the last thousands of changes gets 410 Gone.  Like the
// real server it ignores the limit of a list with "resourceVersion=0", selects by labels and
// fields, sends a bookmark every minute to clients that ask for them, and serves the objects of one
// namespace.  A collection other than pods exists once it has an object.  It reviews tokens and
// access by what the test permits, and takes merge patches, with 409 when the object has changed.
// The certificate is made at the start.  Thread safe; one thread per connection.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/file_descriptor.h"
#include "sim/kube/api_access.h"
#include "sim/kube/api_request.h"

namespace podgpu::sim {

class ApiTls;
class ApiWire;

inline constexpr std::string_view kFirstToken = "secret";
inline constexpr std::string_view kPodsPath = "/api/v1/pods";

class FakeApi {
 public:
  FakeApi();
  ~FakeApi();
  FakeApi(const FakeApi&) = delete;
  FakeApi& operator=(const FakeApi&) = delete;

  // The port on 127.0.0.1.
  uint16_t port() const { return port_; }
  // The certificate as text.
  std::string certificate() const;
  // Writes the certificate as `ca.crt` and the first token as `token`; false when that fails.
  bool WriteCredentials(const std::string& directory) const;

  // Accepts only this token from now on.
  void AcceptToken(std::string token);
  // Stops listening and ends every connection; or listens again on the same port.
  void SetDown(bool is_down);
  // From now on: answers are delayed; answers and watch events are not JSON; the token has no
  // rights; every request gets 429.
  void SetDelay(std::chrono::milliseconds delay);
  void SetGarbled(bool is_garbled);
  void SetForbidden(bool is_forbidden);
  // From now on every request gets 403 that none of these grants allows.
  void SetGrants(std::vector<ApiGrant> grants);
  void SetRateLimited(bool is_rate_limited);
  // From now on watches stay open but get nothing; switched off, they get what they missed.
  void SetSilent(bool is_silent);

  // Puts an object, whose metadata lacks only the version, into a collection, or deletes it.
  // `collection` may include the namespace.  `rest` is the text after metadata and begins with a
  // comma; clients that ask for metadata alone do not get it.
  void Put(std::string_view collection, const std::string& key, const std::string& metadata,
           const std::string& rest = "");
  void Delete(std::string_view collection, const std::string& key);
  void PutPod(const std::string& name_space, const std::string& name, const std::string& uid,
              const std::string& labels_json = "{}");
  // The ConfigMap kube-system/extension-apiserver-authentication.
  void PutTrust(const ApiTrust& trust);
  // The object that sends the requests of a group and version ("v1beta1.external.metrics.k8s.io")
  // to a Service.
  void PutApiService(const std::string& name, const std::string& service_namespace,
                     const std::string& service_name);
  // The text of an object as a GET answers it; empty when there is none.
  std::string Text(std::string_view collection, const std::string& key) const;
  // From now on this token is `user`'s, and users may do only this.
  void AcceptUser(const std::string& token, ApiUser user);
  void Permit(std::vector<ApiPermission> permissions);
  // Before the next `count` patches another client changes the object, so they get 409.
  void DisturbPatches(int count);
  // Serves a fixed body at `path`.
  void Serve(const std::string& path, const std::string& body);

  // The next `count` requests get this answer, with `headers` ("Retry-After: 1\r\n").
  void Refuse(int count, int status, std::string headers = "");
  // The same, in plain text.
  void RefuseInText(int count, int status, std::string text);
  // Splits lists into pages of at most this many objects, unless they come from the cache.
  void PageBy(size_t items);
  // The next `count` requests for a further page get 410.
  void ExpirePages(int count);
  // Watches from an older version than the newest get a 410 event.
  void ForgetHistory();
  // Lists report this version instead of the newest.
  void ListVersion(std::string version);
  // The time between bookmarks.
  void BookmarkEach(std::chrono::milliseconds period);
  // Sends these bytes unchanged on all watches.
  void SendToWatches(const std::string& bytes);
  // Ends all present watches cleanly, or cuts their connections.
  void EndWatches();
  void CutWatches();

  // "GET target" of every request so far.
  std::vector<std::string> requests() const;
  // Those of them that got 403 since SetGrants, and the indices of the grants that allowed one.
  std::vector<std::string> forbidden() const;
  std::set<size_t> used_grants() const;
  void AwaitRequests(size_t count) const;
  // Waits until this many watches are open, or this many bookmarks were sent.
  void AwaitWatches(size_t count) const;
  void AwaitBookmarks(uint64_t count) const;

 private:
  using Object = std::shared_ptr<const ApiStored>;
  struct Event {
    uint64_t version;
    std::string collection, key;
    Object before, now;  // Null when it did not exist, or no longer exists.
  };
  struct Sent;

  void Listen();
  void Accept();
  void Run(int socket);
  void AwaitDelay();
  std::string Answer(ApiRequest& request, bool& is_watch);
  std::string Refusal(const ApiRequest& request);
  bool IsGranted(const ApiRequest& request);
  std::string AnswerObjects(const ApiRequest& request);
  std::string AnswerPatch(const ApiRequest& request);
  std::string ListPage(const ApiRequest& request);
  void Watching(ApiWire& wire, const ApiRequest& request);
  std::string InitialEvents(const ApiRequest& request);
  std::string EventsFor(const ApiRequest& request, Sent& sent) const;
  // Empty while the server is silent.
  std::string PeriodicBookmark(const ApiRequest& request);
  std::string Bookmark(const ApiRequest& request, std::string_view annotations) const;
  void Change(const std::string& collection, const std::string& key, Object now);

  mutable std::mutex mutex_;  // Guards everything below; the waits need a plain one.
  mutable std::condition_variable changed_;
  std::map<std::string, std::map<std::string, Object>, std::less<>> store_;
  std::map<std::string, std::string> fixed_;
  std::deque<Event> events_;
  uint64_t version_ = 100;
  uint64_t oldest_ = 0;  // Version of the oldest event in memory.
  std::string listed_version_;
  std::string token_{kFirstToken};
  size_t page_ = 0;
  int expired_pages_ = 0;
  int refusals_ = 0, refusal_ = 0;
  std::string refusal_headers_, refusal_text_;
  std::string raw_;
  uint64_t raw_round_ = 0, end_round_ = 0, cut_round_ = 0;
  std::vector<std::string> requests_, forbidden_;
  std::optional<std::vector<ApiGrant>> grants_;  // Empty: the token may do everything.
  std::set<size_t> used_grants_;
  std::map<std::string, ApiUser> users_;  // By their tokens.
  std::vector<ApiPermission> permissions_;
  int disturbed_patches_ = 0;
  size_t idle_watches_ = 0;
  uint64_t bookmarks_ = 0;
  std::list<int> sockets_;
  std::chrono::milliseconds delay_{0};
  std::chrono::milliseconds bookmark_period_{60'000};
  uint64_t too_many_ = 0;  // Requests since rate limiting began.
  bool is_garbled_ = false;
  bool is_forbidden_ = false;
  bool is_rate_limited_ = false;
  bool is_silent_ = false;
  bool is_down_ = false;
  bool stopping_ = false;

  const std::unique_ptr<const ApiTls> tls_;
  const FileDescriptor holder_;  // Holds the port while it is not listening.
  FileDescriptor listener_;
  uint16_t port_ = 0;
  std::list<std::jthread> threads_;
  std::vector<std::thread::id> ended_;  // Those of `threads_` that can be joined.
  std::jthread acceptor_;
};

}  // namespace podgpu::sim
