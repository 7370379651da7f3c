// A shared object that is not a libdcgm, for load_test.cc.
extern "C" {
int Stranger();
int Stranger() { return 1; }
}
