#include "http/openssl_on_need.h"

// The functions of OpenSSL that podgpu calls: each is a jump to the real one.
//
// Most nodes need neither TLS nor passwords, and a process that has OpenSSL in it has 1.6 MiB more
// resident memory, 0.5 MiB of it private.  So the program does not name OpenSSL as a library that
// it needs: the first call of any of these functions loads it.  Each jump reads its target from a
// slot of its own.  At first all slots lead to podgpu_openssl_first_call, which keeps the
// arguments, fills the slots and goes on to the function that was called.  The slots lie where the
// program cannot write, except while they are filled.  The linker gets no library of OpenSSL, so it
// refuses a call of a function that is missing here.  Any thread.
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <span>
#include <string>
#include <sys/mman.h>
#include <system_error>
#include <unistd.h>

#include "absl/strings/str_format.h"

#include "base/library.h"
#include "base/log.h"

// clang-format off
#define PODGPU_OPENSSL_FUNCTIONS(X)                                                                \
  X(ASN1_STRING_get0_data) X(ASN1_STRING_length) X(ASN1_STRING_to_UTF8) X(ASN1_TIME_set)           \
  X(ASN1_TIME_to_tm) X(BIO_ctrl) X(BIO_ctrl_pending) X(BIO_free) X(BIO_new) X(BIO_new_bio_pair)    \
  X(BIO_new_mem_buf) X(BIO_read) X(BIO_s_mem) X(BIO_write) X(BN_bin2bn) X(BN_free)                 \
  X(BN_to_ASN1_INTEGER) X(CRYPTO_free) X(CRYPTO_memcmp) X(ERR_clear_error) X(ERR_get_error)        \
  X(ERR_lib_error_string) X(ERR_peek_error) X(ERR_peek_last_error) X(ERR_reason_error_string)      \
  X(EVP_DecodeBlock) X(EVP_EncodeBlock) X(EVP_PKEY_Q_keygen) X(EVP_PKEY_free) X(EVP_sha256)        \
  X(GENERAL_NAMES_free) X(GENERAL_NAME_get0_value) X(HMAC) X(OPENSSL_sk_free)                      \
  X(OPENSSL_sk_new_null) X(OPENSSL_sk_num) X(OPENSSL_sk_push) X(OPENSSL_sk_value)                  \
  X(PEM_read_bio_PrivateKey) X(PEM_read_bio_X509) X(PEM_read_bio_X509_AUX)                         \
  X(PEM_write_bio_PrivateKey) X(PEM_write_bio_X509) X(RAND_bytes) X(SHA256)                        \
  X(SSL_CTX_add_client_CA) X(SSL_CTX_clear_options) X(SSL_CTX_ctrl) X(SSL_CTX_free)                \
  X(SSL_CTX_get0_certificate) X(SSL_CTX_get_cert_store) X(SSL_CTX_get_default_passwd_cb)           \
  X(SSL_CTX_get_default_passwd_cb_userdata) X(SSL_CTX_get_ex_data)                                 \
  X(SSL_CTX_get_verify_callback) X(SSL_CTX_new) X(SSL_CTX_set_alpn_select_cb)                      \
  X(SSL_CTX_set_cert_verify_callback) X(SSL_CTX_set_cipher_list)                                   \
  X(SSL_CTX_set_default_passwd_cb_userdata) X(SSL_CTX_set_default_verify_paths)                    \
  X(SSL_CTX_set_ex_data) X(SSL_CTX_set_num_tickets) X(SSL_CTX_set_options) X(SSL_CTX_set_verify)   \
  X(SSL_CTX_use_PrivateKey) X(SSL_CTX_use_certificate) X(SSL_accept) X(SSL_connect) X(SSL_ctrl)    \
  X(SSL_free) X(SSL_get1_peer_certificate) X(SSL_get_error) X(SSL_get_ex_data)                     \
  X(SSL_get_ex_data_X509_STORE_CTX_idx) X(SSL_get_peer_cert_chain) X(SSL_get_shutdown)             \
  X(SSL_get_verify_callback) X(SSL_get_verify_mode) X(SSL_new) X(SSL_read) X(SSL_set_bio)          \
  X(SSL_set_ex_data) X(SSL_set_verify) X(SSL_shutdown) X(SSL_write) X(TLS_client_method)           \
  X(TLS_method) X(TLS_server_method) X(X509V3_EXT_conf_nid) X(X509V3_set_ctx)                      \
  X(X509_EXTENSION_free) X(X509_NAME_ENTRY_get_data) X(X509_NAME_add_entry_by_txt)                 \
  X(X509_NAME_get_entry) X(X509_NAME_get_index_by_NID) X(X509_STORE_CTX_free)                      \
  X(X509_STORE_CTX_get0_cert) X(X509_STORE_CTX_get0_param) X(X509_STORE_CTX_get_current_cert)      \
  X(X509_STORE_CTX_get_error) X(X509_STORE_CTX_get_error_depth) X(X509_STORE_CTX_get_ex_data)      \
  X(X509_STORE_CTX_init) X(X509_STORE_CTX_new) X(X509_STORE_CTX_set_error)                         \
  X(X509_STORE_add_cert) X(X509_STORE_free) X(X509_STORE_new) X(X509_VERIFY_PARAM_set_flags)       \
  X(X509_VERIFY_PARAM_set_purpose) X(X509_VERIFY_PARAM_set_time) X(X509_add_ext)                   \
  X(X509_check_host) X(X509_check_ip_asc) X(X509_free) X(X509_get0_notAfter) X(X509_get_ext_d2i)   \
  X(X509_get_serialNumber) X(X509_get_subject_name) X(X509_getm_notAfter) X(X509_getm_notBefore)   \
  X(X509_new) X(X509_set_issuer_name) X(X509_set_pubkey) X(X509_set_version) X(X509_sign)          \
  X(X509_verify_cert) X(X509_verify_cert_error_string) X(d2i_PrivateKey_bio) X(d2i_X509)           \
  X(i2d_X509)
// clang-format on

// A jump in a section of its own, which the linker leaves out where nothing calls it, and its slot.
#define PODGPU_JUMP(name)                                                                        \
  ".pushsection .text." #name                                                                    \
  ",\"ax\",%progbits\n"                                                                          \
  ".globl " #name "\n.hidden " #name "\n.type " #name ",%function\n" #name ":\n" PODGPU_JUMP_BY( \
      "podgpu_slot_" #name) ".size " #name ",.-" #name                                           \
                            "\n.popsection\n"                                                    \
                            ".pushsection .data.rel.ro.podgpu_openssl_slots,\"aw\",%progbits\n"  \
                            "podgpu_slot_" #name                                                 \
                            ": .quad podgpu_openssl_first_call\n"                                \
                            ".popsection\n"

// podgpu_openssl_first_call keeps the registers that hold arguments and the slot.  No function of
// the list has an argument in a vector register.
#if defined(__x86_64__)
#define PODGPU_JUMP_BY(slot) "endbr64\nlea " slot "(%rip), %r11\njmp *(%r11)\n"
#define PODGPU_FIRST_CALL                                                                \
  "endbr64\npush %rdi\npush %rsi\npush %rdx\npush %rcx\npush %r8\npush %r9\npush %rax\n" \
  "push %r11\nsub $8, %rsp\ncall podgpu_load_openssl\nadd $8, %rsp\npop %r11\n"          \
  "pop %rax\npop %r9\npop %r8\npop %rcx\npop %rdx\npop %rsi\npop %rdi\njmp *(%r11)\n"
#elif defined(__aarch64__)
#define PODGPU_JUMP_BY(slot) \
  "bti c\nadrp x16, " slot "\nadd x16, x16, :lo12:" slot "\nldr x17, [x16]\nbr x17\n"
#define PODGPU_FIRST_CALL                                                                         \
  "bti c\nstp x29, x30, [sp, #-96]!\nmov x29, sp\nstp x0, x1, [sp, #16]\nstp x2, x3, [sp, #32]\n" \
  "stp x4, x5, [sp, #48]\nstp x6, x7, [sp, #64]\nstp x8, x16, [sp, #80]\n"                        \
  "bl podgpu_load_openssl\n"                                                                      \
  "ldp x8, x16, [sp, #80]\nldp x6, x7, [sp, #64]\nldp x4, x5, [sp, #48]\nldp x2, x3, [sp, #32]\n" \
  "ldp x0, x1, [sp, #16]\nldp x29, x30, [sp], #96\nldr x17, [x16]\nbr x17\n"
#else
#error "podgpu is built for amd64 and arm64"
#endif

// NOLINTBEGIN(hicpp-no-assembler): C++ has no jump that keeps the arguments of any function.
asm(".pushsection .text.podgpu_openssl_first_call,\"ax\",%progbits\n"
    ".type podgpu_openssl_first_call,%function\n"
    "podgpu_openssl_first_call:\n" PODGPU_FIRST_CALL
    ".size podgpu_openssl_first_call,.-podgpu_openssl_first_call\n"
    ".popsection\n"
    ".pushsection .data.rel.ro.podgpu_openssl_slots,\"aw\",%progbits\n"
    ".balign 8\n"
    ".globl podgpu_openssl_slots\n.hidden podgpu_openssl_slots\n"
    "podgpu_openssl_slots:\n"
    ".popsection\n" PODGPU_OPENSSL_FUNCTIONS(PODGPU_JUMP));
// NOLINTEND(hicpp-no-assembler)

namespace podgpu {
namespace {

#define PODGPU_NAME(name) #name,
constexpr std::array kOpenSslFunctions = {PODGPU_OPENSSL_FUNCTIONS(PODGPU_NAME)};

constexpr const char* kOpenSsl = "libssl.so.3";  // It brings libcrypto.so.3 with it.

// A program that cannot load its libraries cannot start; here it ends for the same reason, later.
[[noreturn]] void EndWithout(const std::string& what) {
  Log(LogLevel::kError, "podgpu needs OpenSSL for TLS or passwords, and ends",
      {{"cause", what}, {"remedy", "install the package libssl3 or its like"}});
  std::_Exit(1);
}

// Changes the protection of the pages of the slots.
void Protect(std::span<void*> slots, int protection) {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto first = std::as_writable_bytes(slots);
  const size_t before = reinterpret_cast<uintptr_t>(first.data()) % page;
  if (::mprotect(first.data() - before, first.size() + before, protection) != 0) {
    EndWithout(std::system_category().message(errno));
  }
}

void FillSlots(std::span<void*> slots) {
  SystemLibraryLoader loader;
  const StatusOr<void*> library = loader.Open(kOpenSsl);
  if (!library.ok()) {
    EndWithout(std::string(library.status().message()));
  }
  Protect(slots, PROT_READ | PROT_WRITE);
  for (size_t i = 0; i < slots.size(); ++i) {
    void* const function = loader.Symbol(*library, kOpenSslFunctions[i]);
    if (function == nullptr) {
      EndWithout(absl::StrFormat("%s lacks %s", kOpenSsl, kOpenSslFunctions[i]));
    }
    slots[i] = function;
  }
  Protect(slots, PROT_READ);
}

}  // namespace
}  // namespace podgpu

// NOLINTBEGIN(readability-identifier-naming,cppcoreguidelines-avoid-non-const-global-variables):
// the assembler names and fills them.
extern "C" {
extern void* podgpu_openssl_slots[podgpu::kOpenSslFunctions.size()];
[[gnu::visibility("hidden")]] void podgpu_load_openssl() noexcept {
  static std::once_flag once;
  std::call_once(once, [] { podgpu::FillSlots(podgpu_openssl_slots); });
}
}
// NOLINTEND(readability-identifier-naming,cppcoreguidelines-avoid-non-const-global-variables)

namespace podgpu {

void LoadOpenSsl() { podgpu_load_openssl(); }

}  // namespace podgpu
