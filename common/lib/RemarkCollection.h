//===- RemarkCollection.h - The collecting side of remarks ------*- C++ -*-===//

#ifndef TRITONEXT_LIB_REMARKCOLLECTION_H
#define TRITONEXT_LIB_REMARKCOLLECTION_H

namespace tritonext::detail {

/// The implementations behind the fields of the same names in `ExtensionInfo`.
void beginRemarks();
const char *endRemarks();

} // namespace tritonext::detail

#endif // TRITONEXT_LIB_REMARKCOLLECTION_H
