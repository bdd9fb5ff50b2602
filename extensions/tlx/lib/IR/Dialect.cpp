#include "tritonext_tlx/IR/Dialect.h"

#include "tritonext_tlx/IR/Dialect.cpp.inc"

void tritonext::tlx::TlxDialect::initialize() {}
