#include "sim/fake_api.h"

#include <algorithm>
#include <csignal>
#include <fstream>
#include <netinet/in.h>
#include <sys/socket.h>

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "base/status.h"
#include "base/text.h"

namespace podgpu::sim {
// Named, since classes of this file have such members.
namespace openssl {
template <typename T, void (*kFree)(T*)>
struct FreeWith {
  void operator()(T* object) const { kFree(object); }
};
using Key = std::unique_ptr<EVP_PKEY, FreeWith<EVP_PKEY, EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, FreeWith<X509, X509_free>>;
using Context = std::unique_ptr<SSL_CTX, FreeWith<SSL_CTX, SSL_CTX_free>>;
}  // namespace openssl

namespace {

constexpr size_t kMostEvents = 4'096;
constexpr std::string_view kGarbage = "<html>no object is here</html>\n";

// A certificate for 127.0.0.1 that is its own authority.
openssl::Certificate SelfSigned(EVP_PKEY* key) {
  openssl::Certificate certificate(X509_new());
  X509_set_version(certificate.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -3'600);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), 365L * 24 * 3'600);
  X509_set_pubkey(certificate.get(), key);
  X509_NAME* name = X509_get_subject_name(certificate.get());
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>("a test"), -1, -1, 0);
  X509_set_issuer_name(certificate.get(), name);
  for (const auto& [id, value] :
       {std::pair{NID_subject_alt_name, "IP:127.0.0.1"}, {NID_basic_constraints, "CA:TRUE"}}) {
    X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, nullptr, id, value);
    X509_add_ext(certificate.get(), extension, -1);
    X509_EXTENSION_free(extension);
  }
  PODGPU_CHECK(X509_sign(certificate.get(), key, EVP_sha256()) > 0);
  return certificate;
}

std::string PemOf(X509* certificate) {
  BIO* memory = BIO_new(BIO_s_mem());
  PEM_write_bio_X509(memory, certificate);
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(memory, &bytes);
  std::string pem(bytes, static_cast<size_t>(size));
  BIO_free(memory);
  return pem;
}

std::string StatusObject(int code, std::string_view reason) {
  return "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"message\":\"" +
         std::string(reason) + " as the test wants\",\"reason\":\"" + std::string(reason) +
         "\",\"code\":" + std::to_string(code) + "}";
}

std::string WholeAnswer(int status, const std::string& body, const std::string& headers = "") {
  return "HTTP/1.1 " + std::to_string(status) + " x\r\nContent-Type: application/json\r\n" +
         headers + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

std::string Chunk(const std::string& bytes) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string size;
  for (size_t rest = bytes.size(); rest > 0; rest /= 16) {
    size.insert(size.begin(), kDigits[rest % 16]);
  }
  return size + "\r\n" + bytes + "\r\n";
}

// The value of `name` in the query of `target`.
std::string Query(const std::string& target, const std::string& name) {
  for (const std::string_view part :
       Split(std::string_view(target).substr(std::min(target.find('?') + 1, target.size())), '&')) {
    if (part.starts_with(name + "=")) {
      return std::string(part.substr(name.size() + 1));
    }
  }
  return {};
}

// 0 where it is no number or not there.
uint64_t NumberIn(const std::string& target, const std::string& name) {
  return ParseDecimal(Query(target, name)).value_or(0);
}

// The value of a header of a request; empty where it is not there.
std::string Header(const std::string& head, std::string_view name) {
  const size_t at = head.find("\r\n" + std::string(name) + ": ");
  if (at == std::string::npos) {
    return {};
  }
  const size_t begin = at + name.size() + 4;
  return head.substr(begin, head.find('\r', begin) - begin);
}

// Shared with whoever else holds the port without listening.
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

struct FakeApi::Tls {
  Tls() : key(EVP_EC_gen("P-256")), certificate(SelfSigned(key.get())) {
    context.reset(SSL_CTX_new(TLS_server_method()));
    PODGPU_CHECK(SSL_CTX_use_certificate(context.get(), certificate.get()) == 1);
    PODGPU_CHECK(SSL_CTX_use_PrivateKey(context.get(), key.get()) == 1);
  }
  openssl::Key key;
  openssl::Certificate certificate;
  openssl::Context context;
};

class FakeApi::Connection {
 public:
  Connection(SSL_CTX* context, int socket) : socket_(socket), ssl_(SSL_new(context)) {
    SSL_set_fd(ssl_.get(), socket);
  }
  bool Greet() { return SSL_accept(ssl_.get()) == 1; }
  bool Send(const std::string& bytes) {
    return SSL_write(ssl_.get(), bytes.data(), static_cast<int>(bytes.size())) > 0;
  }
  // The head of the next request; empty when there is none.
  std::string Receive() {
    while (true) {
      if (const size_t end = received_.find("\r\n\r\n"); end != std::string::npos) {
        std::string head = received_.substr(0, end + 4);
        received_.erase(0, end + 4);
        return head;
      }
      char bytes[4096];
      const int count = SSL_read(ssl_.get(), bytes, sizeof bytes);
      if (count <= 0) {
        return {};
      }
      received_.append(bytes, static_cast<size_t>(count));
    }
  }
  void Cut() const { ::shutdown(socket_, SHUT_RDWR); }

 private:
  const int socket_;
  std::unique_ptr<SSL, openssl::FreeWith<SSL, SSL_free>> ssl_;
  std::string received_;
};

FakeApi::FakeApi()
    : tls_(std::make_unique<Tls>()), holder_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  std::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes to connections that a client has cut.
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

bool FakeApi::WriteCredentials(const std::string& directory) const {
  std::ofstream token(directory + "/token");
  std::ofstream certificate(directory + "/ca.crt");
  token << kFirstToken << std::flush;
  certificate << PemOf(tls_->certificate.get()) << std::flush;
  return token.good() && certificate.good();
}

void FakeApi::AcceptToken(std::string token) {
  const std::scoped_lock lock(mutex_);
  token_ = std::move(token);
}

void FakeApi::Put(std::string_view collection, const std::string& key, const std::string& metadata,
                  const std::string& rest) {
  const std::scoped_lock lock(mutex_);
  auto& objects = store_[std::string(collection)];
  const bool is_new = objects.insert_or_assign(key, Stored{metadata, rest}).second;
  Change(collection, key, is_new ? "ADDED" : "MODIFIED");
}

void FakeApi::Delete(std::string_view collection, const std::string& key) {
  const std::scoped_lock lock(mutex_);
  Change(collection, key, "DELETED");
  store_[std::string(collection)].erase(key);
}

void FakeApi::Change(std::string_view collection, const std::string& key, std::string type) {
  const Stored& stored = store_[std::string(collection)].at(key);
  ++version_;
  events_.push_back({version_, std::string(collection), std::move(type), stored});
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

void FakeApi::Refuse(int count, int status, std::string headers) {
  const std::scoped_lock lock(mutex_);
  refusals_ = count;
  refusal_ = status;
  refusal_headers_ = std::move(headers);
}

void FakeApi::PageBy(size_t items) {
  const std::scoped_lock lock(mutex_);
  page_ = items;
}

void FakeApi::ForgetHistory() {
  const std::scoped_lock lock(mutex_);
  oldest_ = ++version_;
}

void FakeApi::SendToWatches(const std::string& bytes) {
  const std::scoped_lock lock(mutex_);
  raw_ = bytes;
  ++raw_round_;
  changed_.notify_all();
}

void FakeApi::EndWatches() {
  const std::scoped_lock lock(mutex_);
  ++end_round_;
  changed_.notify_all();
}

void FakeApi::CutWatches() {
  const std::scoped_lock lock(mutex_);
  ++cut_round_;
  changed_.notify_all();
}

std::vector<std::string> FakeApi::requests() const {
  const std::scoped_lock lock(mutex_);
  return requests_;
}

void FakeApi::AwaitRequests(size_t count) const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return requests_.size() >= count; });
}

void FakeApi::AwaitWatches(size_t count) const {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return idle_watches_ >= count; });
}

void FakeApi::Accept() {
  while (true) {
    const int socket = ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC);
    std::unique_lock lock(mutex_);
    if (socket < 0) {  // The listener is shut.
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
      return std::ranges::count(ended_, thread.get_id()) > 0;  // Which joins it.
    });
    ended_.clear();
    sockets_.push_back(socket);
    threads_.emplace_back([this, socket] { Run(socket); });
  }
}

// What a client asks for.
struct FakeApi::Request {
  explicit Request(const std::string& head)
      : target(head.substr(4, head.find(' ', 4) - 4)),
        path(target.substr(0, target.find('?'))),
        authorization(Header(head, "Authorization")),
        metadata_alone(Header(head, "Accept").find("as=PartialObjectMetadata") !=
                       std::string::npos) {}

  std::string TextOf(const Stored& object, uint64_t version) const {
    return "{\"metadata\":{" + object.metadata + ",\"resourceVersion\":\"" +
           std::to_string(version) + "\"}" + (metadata_alone ? "" : object.rest) + "}";
  }

  std::string target, path, authorization;
  bool metadata_alone;
  uint64_t end_round = 0, cut_round = 0;  // When it was answered.
};

void FakeApi::Run(int socket) {
  {
    Connection connection(tls_->context.get(), socket);
    std::string head = connection.Greet() ? connection.Receive() : std::string();
    for (; !head.empty(); head = connection.Receive()) {
      Request request(head);
      bool is_watch = false;
      const std::string answer = Answer(request, is_watch);
      AwaitDelay();
      if (!connection.Send(answer)) {
        break;
      }
      if (is_watch) {
        Watching(connection, request);
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

std::string FakeApi::Answer(Request& request, bool& is_watch) {
  const std::scoped_lock lock(mutex_);
  request.end_round = end_round_;
  request.cut_round = cut_round_;
  requests_.push_back("GET " + request.target);
  changed_.notify_all();
  if (request.authorization != "Bearer " + token_) {
    return WholeAnswer(401, StatusObject(401, "Unauthorized"));
  }
  if (refusals_ > 0) {
    --refusals_;
    return WholeAnswer(refusal_, StatusObject(refusal_, "Refused"), refusal_headers_);
  }
  if (is_garbled_) {
    return WholeAnswer(200, std::string(kGarbage));
  }
  if (const auto found = fixed_.find(request.path); found != fixed_.end()) {
    return WholeAnswer(200, found->second);
  }
  if (request.path != kPodsPath && !store_.contains(request.path)) {
    return WholeAnswer(404, StatusObject(404, "NotFound"));
  }
  is_watch = Query(request.target, "watch") == "1";
  return is_watch ? "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" : ListPage(request);
}

std::string FakeApi::ListPage(const Request& request) {
  const auto& objects = store_[request.path];
  const size_t from = NumberIn(request.target, "continue");
  const size_t to = page_ == 0 ? objects.size() : std::min(objects.size(), from + page_);
  std::string items;
  size_t index = 0;
  for (const auto& [key, stored] : objects) {
    if (index >= from && index < to) {
      items += (items.empty() ? "" : ",") + request.TextOf(stored, version_);
    }
    ++index;
  }
  const std::string next =
      to < objects.size() ? ",\"continue\":\"" + std::to_string(to) + "\"" : "";
  return WholeAnswer(200, "{\"kind\":\"List\",\"metadata\":{\"resourceVersion\":\"" +
                              std::to_string(version_) + "\"" + next + "},\"items\":[" + items +
                              "]}");
}

void FakeApi::Watching(Connection& connection, const Request& request) {
  std::unique_lock lock(mutex_);
  const uint64_t since = NumberIn(request.target, "resourceVersion");
  if (since < oldest_) {
    connection.Send(Chunk(R"({"type":"ERROR","object":)" + StatusObject(410, "Expired") + "}\n") +
                    "0\r\n\r\n");
    return;
  }
  uint64_t sent = since;
  uint64_t raw = raw_round_;
  bool is_new = true;
  while (!stopping_ && request.end_round == end_round_ && request.cut_round == cut_round_) {
    std::string bytes;
    for (const Event& event : events_) {
      if (event.version > sent && event.collection == request.path) {
        bytes += R"({"type":")" + event.type + R"(","object":)" +
                 request.TextOf(event.object, event.version) + "}\n";
        sent = event.version;
      }
    }
    bytes += raw != raw_round_ ? raw_ : "";
    raw = raw_round_;
    if (!bytes.empty() && !connection.Send(Chunk(bytes))) {
      return;
    }
    ++idle_watches_;
    if (std::exchange(is_new, false)) {
      changed_.notify_all();
    }
    changed_.wait(lock);
    --idle_watches_;
  }
  if (request.end_round != end_round_) {
    connection.Send("0\r\n\r\n");
  }
  connection.Cut();
}

}  // namespace podgpu::sim
