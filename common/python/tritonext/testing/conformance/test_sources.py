"""The source tree of every extension: tests of each pass, tests of each message, and names that follow the rules."""

from __future__ import annotations

import re

import pytest

from tritonext.testing.conformance.subjects import source  # noqa: F401

PASS_DEF = re.compile(r'^def\s+(\w+)\s*:\s*(?:Pass|InterfacePass)\s*<\s*"([^"]+)"', re.MULTILINE)
REFUSAL = re.compile(r"signalPassFailure|emit(Op)?Error")
EMITTERS = "emitError|emitOpError|emitWarning|emitRemark|attachNote|notifyFailure|reportMissed"
# A function that is given the text of a message.
HELPER = re.compile(
    r"\b(\w+)\([^()]*\b(?:Twine|StringRef|string)\b[^()]*\)\s*(?:const\s*)?"
    rf"\{{[^{{}}]*\b(?:{EMITTERS})\b[^{{}}]*\}}",
    re.DOTALL,
)
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def test_manifest_is_the_one_that_is_installed(extension, source):  # noqa: F811
    assert source.manifest == extension.manifest, "rebuild and reinstall the extension"


def test_tablegen_and_manifest_name_the_same_passes(extension, source):  # noqa: F811
    text = "".join(path.read_text() for path in source.files("include/**/*.td"))
    defined = dict(PASS_DEF.findall(text))
    assert defined == {entry.definition: entry.flag for entry in extension.manifest.passes}


def test_pass_lives_in_the_file_of_its_name(extension, entry, source):  # noqa: F811
    [path] = source.files(f"lib/**/{entry.stem}.cpp")
    assert f'#define DEBUG_TYPE "{entry.flag}"' in path.read_text()


@pytest.mark.parametrize("suffix", ["", "_invalid"], ids=["golden", "invalid"])
def test_pass_has_its_lit_tests(extension, entry, source, suffix):  # noqa: F811
    path = source.lit(entry, suffix)
    assert path.is_file(), f"expected {path.relative_to(source.directory)}"
    text = path.read_text()
    assert entry.flag in text
    assert "RUN: " in text
    if suffix:
        expected = ("expected-", "not %opt")
        if not REFUSAL.search("".join(file.read_text() for file in source.files(f"lib/**/{entry.stem}.cpp"))):
            expected = (*expected, "missed:")
        assert any(word in text for word in expected), (
            f"{path.name}: expected a refusal, `expected-error` or `not %opt`, or of a pass that has none `missed:`"
        )


def test_every_message_is_matched_by_a_test(extension, source):  # noqa: F811
    """Each piece of text in a diagnostic or remark, up to the values between them, stands in some test."""
    tests = "".join(path.read_text() for path in source.files("tests/**/*.mlir", "tests/**/*.py")).replace('\\"', '"')
    missing = []
    for path in source.files("lib/**/*.cpp", "lib/**/*.h", "include/**/*.h"):
        code = COMMENT.sub("", path.read_text())
        emitters = "|".join([EMITTERS, *HELPER.findall(code)])
        for statement in re.findall(rf"\b(?:{emitters})\b[^;]*;", code, re.DOTALL):
            for part in STRING.findall(statement):
                text = part.replace('\\"', '"').replace("\\n", "\n").strip()
                # Punctuation between values tells nothing about whether the message was seen.
                if len(re.sub(r"\W", "", text)) >= 3 and text not in tests:
                    missing.append(f"{path.name}: {text!r}")
    assert not missing, "no test has:\n" + "\n".join(missing)
