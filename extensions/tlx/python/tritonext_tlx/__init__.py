"""Triton Language Extensions on the stock wheel: ``import tritonext_tlx as tlx`` and use its ops in kernels.

Importing loads the library and changes no kernel. A kernel that uses an op compiles under the extension's pipeline.
"""

import tritonext

from .aliasing import reuse_group, reuse_group_type, storage_alias_spec
from .amd import buffer_atomic_add, buffer_load, buffer_load_to_local, buffer_store, warp_pipeline_stage
from .barrier import (
    alloc_barriers,
    alloc_warp_barrier,
    barrier_arrive,
    barrier_expect_bytes,
    barrier_wait,
    fence,
    fence_async_shared,
    fence_mbarrier_init_cluster,
    mbarrier,
    mbarrier_type,
    named_barrier_arrive,
    named_barrier_wait,
)
from .clc import CLCPipelineContext, CLCPipelineContextType, clc_consumer, clc_create_context, clc_producer
from .cluster import (
    cluster_barrier,
    cluster_cta_rank,
    cluster_size_1d,
)
from .compat import install_compat
from .copy import async_load, async_load_commit_group, async_load_wait_group, async_store, prefetch
from .definition import supported_ops
from .dot import async_dot, async_dot_wait
from .hangs import HangError, StuckWait, watch
from .layouts import assert_same_layout, dump_layout, release_layout, require_layout, zeros
from .memory import (
    local_alloc,
    local_gather,
    local_load,
    local_reinterpret,
    local_reshape,
    local_scatter,
    local_slice,
    local_store,
    local_trans,
    local_view,
)
from .mma5 import async_dot_scaled, tcgen05_commit
from .passes import pipeline
from .pipelining import alloc_pipeline, async_pipeline, pipeline_stage
from .remote import async_remote_shmem_store, remote_shmem_store, remote_view
from .report import report
from .simulator import simulate
from .tasks import (
    async_task,
    async_task_replica_id,
    async_tasks,
    get_bufidx_phase,
)
from .tma import (
    allocate_tensor_descriptor,
    async_descriptor_load,
    async_descriptor_prefetch_tensor,
    async_descriptor_store,
    async_descriptor_store_wait,
    make_tensor_descriptor,
    reinterpret_tensor_descriptor,
    tensor_descriptor_ptr,
)
from .tmem import subslice, tmem_copy
from .types import async_token, buffered_tensor, buffered_tensor_type, storage_kind
from .utility import (
    clock64,
    dtype_of,
    get_fp8_format_name,
    size_of,
    stoch_round,
    thread_id,
    vote_ballot_sync,
)

__all__ = [
    "CLCPipelineContext",
    "CLCPipelineContextType",
    "HangError",
    "StuckWait",
    "alloc_barriers",
    "alloc_pipeline",
    "alloc_warp_barrier",
    "allocate_tensor_descriptor",
    "assert_same_layout",
    "async_descriptor_load",
    "async_descriptor_prefetch_tensor",
    "async_descriptor_store",
    "async_descriptor_store_wait",
    "async_dot",
    "async_dot_scaled",
    "async_dot_wait",
    "async_load",
    "async_load_commit_group",
    "async_load_wait_group",
    "async_pipeline",
    "async_remote_shmem_store",
    "async_store",
    "async_task",
    "async_task_replica_id",
    "async_tasks",
    "async_token",
    "barrier_arrive",
    "barrier_expect_bytes",
    "barrier_wait",
    "buffer_atomic_add",
    "buffer_load",
    "buffer_load_to_local",
    "buffer_store",
    "buffered_tensor",
    "buffered_tensor_type",
    "clc_consumer",
    "clc_create_context",
    "clc_producer",
    "clock64",
    "cluster_barrier",
    "cluster_cta_rank",
    "cluster_size_1d",
    "dtype_of",
    "dump_layout",
    "fence",
    "fence_async_shared",
    "fence_mbarrier_init_cluster",
    "get_bufidx_phase",
    "get_fp8_format_name",
    "install_compat",
    "local_alloc",
    "local_gather",
    "local_load",
    "local_reinterpret",
    "local_reshape",
    "local_scatter",
    "local_slice",
    "local_store",
    "local_trans",
    "local_view",
    "make_tensor_descriptor",
    "mbarrier",
    "mbarrier_type",
    "named_barrier_arrive",
    "named_barrier_wait",
    "pipeline",
    "pipeline_stage",
    "prefetch",
    "reinterpret_tensor_descriptor",
    "release_layout",
    "remote_shmem_store",
    "remote_view",
    "report",
    "require_layout",
    "reuse_group",
    "reuse_group_type",
    "simulate",
    "size_of",
    "stoch_round",
    "storage_alias_spec",
    "storage_kind",
    "subslice",
    "supported_ops",
    "tcgen05_commit",
    "tensor_descriptor_ptr",
    "thread_id",
    "tmem_copy",
    "vote_ballot_sync",
    "warp_pipeline_stage",
    "watch",
    "zeros",
]

tritonext.load("tlx")
