"""The container file and .devcontainer/ can be read; `make test-container` builds them where something can."""

from __future__ import annotations

import pytest

import container

_RUST = "1.2.3"


def test_the_files_are_right_as_far_as_reading_tells() -> None:
    assert container.checked() == []
    words = [word for word, _ in container.instructions(container.FILE.read_text())]
    assert words.count("FROM") == 3 and {"RUN", "COPY", "ENTRYPOINT"} <= set(words)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("FORM debian\n", "FORM debian: no instruction of this form is known"),
        ("FROM rust:1.0.0-slim-bookworm AS a\n", "rust:1.0.0-slim-bookworm: the sources need Rust 1.2.3"),
        ("FROM debian\nRUN if true; \\\n then\n", "RUN if true;   then: "),
        ("FROM debian\nCOPY --from=gone /a /b\n", "COPY --from=gone /a /b: there is no stage gone before"),
        ("FROM debian\nCOPY gone /b\n", "COPY gone /b: there is no gone"),
        ("FROM debian\nCOPY target /b\n", "COPY target /b: there is no target"),
        ("FROM debian\nENV A\n", "ENV A: no instruction of this form is known"),
    ],
)
def test_a_mistake_is_found(text: str, sentence: str) -> None:
    (found,) = container.mistakes(text, ["target"], _RUST)
    assert found.startswith(sentence)
