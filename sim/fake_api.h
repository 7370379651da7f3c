// An API server of a cluster, made of software: TLS on a port of its own, lists and watches over a
// small store, and whatever a test wants to go wrong.
//
// It shares no code with the client: the answers are written as text, over blocking sockets and
// plain OpenSSL.  A change of the store is an event of every open watch of that collection, with
// the next version; who asks from a version that is older than the last thousands of changes is
// told that it is gone.  Selectors are not looked at: all objects are of one node.  Its certificate
// is made at the start.  Thread safe; a thread per connection.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/file_descriptor.h"

namespace podgpu::sim {

inline constexpr std::string_view kFirstToken = "secret";
inline constexpr std::string_view kPodsPath = "/api/v1/pods";

class FakeApi {
 public:
  FakeApi();
  ~FakeApi();
  FakeApi(const FakeApi&) = delete;
  FakeApi& operator=(const FakeApi&) = delete;

  // On 127.0.0.1.
  uint16_t port() const { return port_; }
  // Writes the certificate as `ca.crt` and the first token as `token`; false when that fails.
  bool WriteCredentials(const std::string& directory) const;

  // The one token that is accepted from now on.
  void AcceptToken(std::string token);
  // Does not listen, and ends every connection; or listens again on the same port.
  void SetDown(bool is_down);
  // Answers come so much later, or answers and what watches are told is no JSON, from now on.
  void SetDelay(std::chrono::milliseconds delay);
  void SetGarbled(bool is_garbled);

  // Puts an object, whose metadata lacks only the version, into a collection, or takes it out.
  // `rest`: what follows metadata, beginning with a comma; who asks for metadata alone is spared
  // it.
  void Put(std::string_view collection, const std::string& key, const std::string& metadata,
           const std::string& rest = "");
  void Delete(std::string_view collection, const std::string& key);
  void PutPod(const std::string& name_space, const std::string& name, const std::string& uid,
              const std::string& labels_json = "{}");
  // Serves a fixed body at `path`.
  void Serve(const std::string& path, const std::string& body);

  // The next `count` requests are answered so, with `headers` ("Retry-After: 1\r\n").
  void Refuse(int count, int status, std::string headers = "");
  // Lists are cut into pages of so many.
  void PageBy(size_t items);
  // Watches from an older version than the newest get 410 as an event.
  void ForgetHistory();
  // Sends bytes as they are on all watches.
  void SendToWatches(const std::string& bytes);
  // Ends all watches that were granted so far in good order, or cuts their connections.
  void EndWatches();
  void CutWatches();

  // "GET target" of every request so far.
  std::vector<std::string> requests() const;
  void AwaitRequests(size_t count) const;
  // Until so many watches are open.
  void AwaitWatches(size_t count) const;

 private:
  struct Stored {
    std::string metadata, rest;
  };
  struct Event {
    uint64_t version;
    std::string collection, type;
    Stored object;
  };
  class Connection;
  struct Request;

  void Listen();
  void Accept();
  void Run(int socket);
  void AwaitDelay();
  std::string Answer(Request& request, bool& is_watch);
  std::string ListPage(const Request& request);
  void Watching(Connection& connection, const Request& request);
  void Change(std::string_view collection, const std::string& key, std::string type);

  mutable std::mutex mutex_;  // Guards everything below; the waits need a plain one.
  mutable std::condition_variable changed_;
  std::map<std::string, std::map<std::string, Stored>, std::less<>> store_;
  std::map<std::string, std::string> fixed_;
  std::deque<Event> events_;
  uint64_t version_ = 100;
  uint64_t oldest_ = 0;  // Of the events that are still known.
  std::string token_{kFirstToken};
  size_t page_ = 0;
  int refusals_ = 0, refusal_ = 0;
  std::string refusal_headers_;
  std::string raw_;
  uint64_t raw_round_ = 0, end_round_ = 0, cut_round_ = 0;
  std::vector<std::string> requests_;
  size_t idle_watches_ = 0;
  std::list<int> sockets_;
  std::chrono::milliseconds delay_{0};
  bool is_garbled_ = false;
  bool is_down_ = false;
  bool stopping_ = false;

  struct Tls;
  const std::unique_ptr<Tls> tls_;
  const FileDescriptor holder_;  // Of the port, while nobody listens.
  FileDescriptor listener_;
  uint16_t port_ = 0;
  std::list<std::jthread> threads_;
  std::vector<std::thread::id> ended_;  // Of these.
  std::jthread acceptor_;
};

}  // namespace podgpu::sim
