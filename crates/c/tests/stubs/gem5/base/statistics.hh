#include "gem5_stub.hh"
