"""``tritonext pipeline``: stock lists, recorded lists, and marks of what active pipelines change."""

import json
import pathlib

import pytest
import triton

import tritonext
from tritonext import Pipeline, disable_pass, insert_after, insert_before, replace_pass, replace_stage, wrap_stage
from tritonext.errors import OptionError, UnknownExtensionError, UserError
from tritonext.offline import TARGETS
from tritonext.pipeline import main
from tritonext.testing import run_python

GOLDEN = pathlib.Path(__file__).parent / "golden"


def shown(capsys, *arguments):
    assert main(["--json", *arguments]) == 0
    return json.loads(capsys.readouterr().out)


def anchors(record, stage):
    (passes,) = [entry["passes"] for entry in record["stages"] if entry["stage"] == stage]
    return [line["anchor"] for line in passes if "anchor" in line]


def test_stock_pipelines_are_those_recorded():
    """A difference is a change of Triton's; record it with `tritonext pipeline golden --write` and review it."""
    done = run_python("-m", "tritonext.pipeline", "golden", "--check", GOLDEN)
    assert done.stdout.splitlines()[-1:] == ["5 of 5 lists agree"], done
    assert done.returncode == 0
    assert sorted(path.stem for path in GOLDEN.iterdir()) == sorted(target.replace(":", "-") for target in TARGETS)


@pytest.mark.parametrize(
    "target", ["cuda", "cuda:", "cuda:\u00b2", "cuda:1", "cuda:99999", "hip:gfx", "hip:gfxzzz", "hip:gfx9-generic", ""]
)
def test_unusable_target_is_refused(target):
    with pytest.raises(OptionError, match="unknown target"):
        main(["--target", target])


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("num_warp=8", "'num_warp' is no compile option"),
        ("num_warps=3", "a compile option has an unusable value"),
        ("num_warps=many", "a compile option has an unusable value"),
    ],
)
def test_unusable_compile_option_is_refused(option, message):
    with pytest.raises(OptionError, match=message):
        main(["--target", "cuda:90", "--option", option])


def test_recorded_lists_are_long_enough_to_mean_something():
    for path in GOLDEN.iterdir():
        lines = path.read_text().splitlines()
        assert [line for line in lines if line.startswith("[")] == [
            "[triton ttir]",
            "[triton ttgir]",
            "[triton llir]",
            "[gluon ttgir]",
            "[gluon llir]",
        ]
        assert len(lines) > 80


def test_difference_from_a_recorded_list_is_shown(tmp_path, capsys):
    assert main(["golden", "--write", str(tmp_path)]) == 0
    path = tmp_path / "cuda-90.txt"
    path.write_text(path.read_text().replace("ttgpuir.accelerate_matmul\n", ""))
    capsys.readouterr()
    assert main(["golden", "--check", str(tmp_path)]) == 1
    out = capsys.readouterr().out
    assert "+ttgpuir.accelerate_matmul" in out
    assert out.endswith("4 of 5 lists agree\n")


def test_missing_list(tmp_path):
    with pytest.raises(UserError, match="there is no recorded list") as caught:
        main(["golden", "--check", str(tmp_path)])
    assert caught.value.where == tmp_path / "cuda-80.txt"


@pytest.mark.parametrize("arguments", [[], ["golden"], ["golden", "--write", "a", "--check", "b"], ["--language", "c"]])
def test_wrong_command_line(arguments, capsys):
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert "error:" in capsys.readouterr().err


def test_text_output(capsys):
    assert main(["--target", "cuda:90", "--stage", "ttir"]) == 0
    out = capsys.readouterr().out.splitlines()
    assert out[0] == f"cuda:90, triton, triton {triton.__version__}"
    assert out[2:5] == ["ttir", "    common.inliner", "    common.canonicalizer"]


def test_options_and_language_choose_the_passes(capsys):
    stock = shown(capsys, "--target", "cuda:100")
    assert "nvidia.ttnvgpuir.to_clc" not in anchors(stock, "ttgir")
    assert "nvidia.ttnvgpuir.to_clc" in anchors(shown(capsys, "--target", "cuda:100", "--option", "clc=True"), "ttgir")
    single = shown(capsys, "--target", "hip:gfx942", "--option", "num_stages=1")
    assert "amd.ttgpuir.block_pingpong" not in anchors(single, "ttgir")
    double = shown(capsys, "--target", "hip:gfx942", "--kernel", "attention_forward")
    assert "amd.ttgpuir.block_pingpong" in anchors(double, "ttgir")
    gluon = shown(capsys, "--target", "cuda:90", "--language", "gluon")
    assert [entry["stage"] for entry in gluon["stages"]] == ["glir", "ttgir", "llir", "ptx", "cubin"]


def test_marks_of_active_pipelines(capsys):
    steps = [
        insert_before("ttir", "ttir.combine", "common.sccp"),
        insert_after("ttir", "ttir.combine", "ttir.triton_licm", "common.cse"),
        disable_pass("ttir", "ttir.combine"),
        replace_pass("ttir", "common.cse", "common.canonicalizer"),
        wrap_stage("ptx", _wrapper),
        replace_stage("cubin", _stage),
    ]
    with tritonext.use(Pipeline(steps, name="mine")):
        assert main(["--target", "cuda:90"]) == 0
    out = capsys.readouterr().out
    assert "enabled: mine" in out
    lines = out.splitlines()
    at = lines.index("  - ttir.combine  (mine)")
    assert lines[at - 1] == "  + common.sccp  (mine)"
    assert lines[at + 1 : at + 3] == ["  + ttir.triton_licm  (mine)", "  + common.cse  (mine)"]
    assert "  ~ common.cse -> common.canonicalizer  (mine)" in lines
    assert "ptx  ~ wrap stage ptx" in lines
    assert any(line.startswith("cubin  ~ replaced: pipeline mine") for line in lines)


def _wrapper(inner, source, metadata, info):
    return inner(source, metadata)


def _stage(source, metadata, info):
    return b""


def test_enabled_extension(probe, capsys):
    record = shown(capsys, "--target", "cuda:90", "--enable", "probe:mark=x")
    (ttgir,) = [entry["passes"] for entry in record["stages"] if entry["stage"] == "ttgir"]
    at = [line["text"] for line in ttgir].index("ttgpuir.coalesce")
    assert ttgir[at + 1] == {"mark": "+", "text": "probe_mark_module{mark=x}", "pipeline": "probe"}
    assert record["pipelines"] == ["probe"]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (["--target", "cuda:abc"], OptionError, "unknown target"),
        (["--target", "cuda:90", "--stage", "hsaco"], UserError, "the backend has no such stage"),
        (["--target", "cuda:90", "--option", "clc"], OptionError, "a setting is malformed"),
        (["--target", "cuda:90", "--kernel", "nosuch"], UserError, "the corpus has no such kernel"),
        (["--target", "cuda:90", "--enable", "nosuch"], UnknownExtensionError, "no installed extension is called"),
        (["--target", "cuda:90", "--enable", "a;b"], OptionError, "the description of a pipeline is malformed"),
    ],
)
def test_mistakes(arguments, error, message):
    with pytest.raises(error, match=message):
        main(arguments)


def test_command():
    done = run_python("-m", "tritonext", "pipeline", "--target", "cuda:90", "--stage", "nosuch")
    assert done.returncode == 1
    assert done.stderr.startswith("error: the backend has no such stage\n")
