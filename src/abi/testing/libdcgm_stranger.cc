// A shared object that is no libdcgm at all, for load_test.cc.
extern "C" {
int Stranger();
int Stranger() { return 1; }
}
