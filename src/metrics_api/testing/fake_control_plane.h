// An API server for tests of the metrics API: TLS, the ConfigMap about callers, reviews of tokens
// and accesses, APIService objects, and pods with labels.
//
// It answers as a test says and records what it was asked. It shares no code with the client
// (blocking Beast). A thread for each connection; thread safe. For tests only.
#pragma once

#include <condition_variable>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "http/testing/authority.h"
#include "kube/api_server.h"

namespace podgpu {

struct FakeApiService {
  std::string service, name_space;  // Empty: of the API server itself.
  std::string ca_bundle;            // Base64, as in the object.
  bool skips_verification = false;
  int version = 1;
};

class FakeControlPlane {
 public:
  FakeControlPlane();
  FakeControlPlane(const FakeControlPlane&) = delete;
  FakeControlPlane& operator=(const FakeControlPlane&) = delete;
  ~FakeControlPlane();

  // Options for a client; writes certificate and token into `directory`.
  ApiServerOptions Options(const std::string& directory) const;

  // The data of the ConfigMap; open watches get the change.
  void SetConfigMap(const std::map<std::string, std::string>& data);
  // `identity`: the JSON of the user.
  void AcceptToken(const std::string& token, const std::string& identity);
  // Allows the user this resource: "gpu_free", "pods/gpu_utilization", or a path.
  void Allow(const std::string& user, const std::string& resource);
  void SetPods(const std::string& items_json);
  void SetNodes(const std::string& items_json);
  void SetApiService(const std::string& name, FakeApiService object);
  FakeApiService ApiService(const std::string& name) const;
  // The next `count` patches find that the object has changed.
  void Conflict(int count);
  // From now on every answer is a 403, or a connection ends at once; or not.
  void SetForbidden(bool is_forbidden);
  void SetDown(bool is_down);
  // From now on reviews wait; or continue.
  void HoldReviews(bool holds);

  // "POST /apis/..." of each request, and the bodies of those that have one.
  std::vector<std::string> requests() const;
  std::vector<std::string> bodies() const;
  size_t Count(const std::string& request) const;

 private:
  struct Answer {
    int status = 200;
    std::string body;
  };
  void Accept();
  void Serve(int socket);
  Answer AnswerTo(const std::string& method, const std::string& target, const std::string& body);
  Answer ConfigMap(std::unique_lock<std::mutex>& lock, const std::string& target);
  Answer Labelled(std::unique_lock<std::mutex>& lock, const std::string& target);
  Answer Review(const std::string& target, const std::string& body) const;
  Answer Object(const std::string& method, const std::string& name, const std::string& body);
  std::string ConfigMapJson() const;

  const Authority authority_;
  const MadeCertificate own_;
  mutable std::mutex mutex_;  // Guards all below; the waits need a plain one.
  std::condition_variable changed_;
  std::map<std::string, std::string> config_map_;
  uint64_t config_version_ = 1;
  std::map<std::string, std::string> tokens_;
  std::set<std::pair<std::string, std::string>> allowed_;
  std::string pods_, nodes_;
  std::map<std::string, FakeApiService> services_;
  int conflicts_ = 0;
  bool is_forbidden_ = false, is_down_ = false, is_stopping_ = false, holds_reviews_ = false;
  std::vector<std::string> requests_, bodies_;
  std::set<int> sockets_;
  int listener_ = -1;
  uint16_t port_ = 0;
  std::list<std::jthread> threads_;
  std::jthread acceptor_;
};

}  // namespace podgpu
