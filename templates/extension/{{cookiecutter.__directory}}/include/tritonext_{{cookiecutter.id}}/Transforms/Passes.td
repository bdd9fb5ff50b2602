#ifndef TRITONEXT_{{cookiecutter.__guard}}_TRANSFORMS_PASSES
#define TRITONEXT_{{cookiecutter.__guard}}_TRANSFORMS_PASSES

include "mlir/Pass/PassBase.td"
{% if cookiecutter.with_pass %}

def {{cookiecutter.__pass}}Pass : Pass<"{{cookiecutter.__flag}}-{{cookiecutter.__pass_snake.replace('_', '-')}}", "mlir::ModuleOp"> {
  let summary = "Let stores pass through the caches as streams";

  let description = [{
    What most kernels store they do not read again, so it only displaces what
    they do read. This pass gives each `tt.store` the cache modifier `.cs`,
    which marks its lines as the first to be evicted: `st.global.cs` in PTX,
    `nt` on AMD.

    A store that has a cache policy of its own keeps it,
    and a missed remark says so. Stores through descriptors have no such
    modifier.
  }];

  let options = [
    Option<"minBytes", "min-bytes", "int64_t", /*default=*/"0",
           "leave a store alone if a program stores fewer bytes with it">,
  ];
}
{% endif %}
{% if cookiecutter.with_dialect %}

def Raise{{cookiecutter.__op_stem}}Pass : Pass<"{{cookiecutter.__flag}}-raise-{{cookiecutter.__op.replace('_', '-')}}", "mlir::ModuleOp"> {
  let summary = "Find {{cookiecutter.id}}.{{cookiecutter.__op}} where a kernel spells it as a selection";

  let description = [{
    `tl.where(x > 0, x, 0)` becomes a comparison and a selection. This pass
    replaces the two by `{{cookiecutter.id}}.{{cookiecutter.__op}}`, which has the same values: an element that
    is NaN is not greater than zero, so both give zero for it.

    Other predicates treat NaN differently and are left alone, and a missed
    remark says so.
  }];

  let dependentDialects = ["::tritonext::{{cookiecutter.id}}::{{cookiecutter.__class}}Dialect"];
}
{% endif %}
{% if cookiecutter.__ir %}

def Lower{{cookiecutter.__op_stem}}Pass : Pass<"{{cookiecutter.__flag}}-lower-{{cookiecutter.__op.replace('_', '-')}}", "mlir::ModuleOp"> {
  let summary = "Replace {{cookiecutter.id}}.{{cookiecutter.__op}} by a maximum with zero";

  let description = [{
    The maximum is `arith.maxnumf`. Elements other than floats have no such op
    and are an error.
  }];

  let dependentDialects = ["::mlir::arith::ArithDialect"];
}
{% endif %}

#endif // TRITONEXT_{{cookiecutter.__guard}}_TRANSFORMS_PASSES
